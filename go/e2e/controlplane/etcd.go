package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd starts an etcd in this process that stores its data in dir, and returns it with the URL
// for clients. The data does not survive a crash of the machine: nothing is synced.
func startEtcd(ctx context.Context, dir string) (*embed.Etcd, string, error) {
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true
	config.LogLevel = "error"
	config.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	// The gateway would dial the configured port, which is 0, again and again.
	config.EnableGRPCGateway = false

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		etcd.Close()
		return nil, "", fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		etcd.Close()
		return nil, "", fmt.Errorf("etcd: %w", ctx.Err())
	}
	return etcd, "http://" + etcd.Clients[0].Addr().String(), nil
}
