// The program replay asks an ebb serve the question of a record that the planner has written about a
// removal which the autoscaler's own simulation refused (--scale-down-planner-record-folder).
//
//	go run ebb/go/clusterautoscaler/replay unix:PATH RECORD
//
// It prints whether ebb removes the node, and where its pods go. It uses a session of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/message"
	"ebb/go/ebb/plannerpb"
	"ebb/go/ebb/plannerpb/plannergrpc"
)

func main() {
	err := errors.New("usage: replay unix:PATH RECORD")
	if len(os.Args) == 3 {
		err = run(context.Background(), os.Args[1], os.Args[2], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

const (
	session = "replay"
	// Objects in a message.
	batch      = 500
	messageMax = 1 << 30
)

func run(ctx context.Context, address, path string, out io.Writer) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var r message.Record
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := choice.CheckAddress(address); err != nil {
		return err
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax)))
	if err != nil {
		return err
	}
	defer connection.Close()
	result, err := ask(ctx, plannergrpc.NewPlannerClient(connection), &r)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The autoscaler refused: %s\n", r.Refusal)
	for _, removal := range result.Removals {
		if removal.Node != r.Node {
			continue
		}
		fmt.Fprintf(out, "ebb removes node %s\n", r.Node)
		for _, move := range removal.Moves {
			fmt.Fprintf(out, "  %s/%s goes to %s\n", move.Pod.Namespace, move.Pod.Name, move.To)
		}
		return nil
	}
	_, err = fmt.Fprintf(out, "ebb does not remove node %s\n", r.Node)
	return err
}

func ask(ctx context.Context, stub plannergrpc.PlannerClient, r *message.Record) (*clusterautoscaler.Result, error) {
	opened, err := stub.Open(ctx, &plannerpb.OpenRequest{Session: session, AsGiven: true})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = stub.Close(ctx, &plannerpb.CloseRequest{Session: session}) }()
	sync, err := stub.Sync(ctx)
	if err != nil {
		return nil, err
	}
	next := &plannerpb.SyncRequest{Session: session, ClusterToken: opened.ClusterToken, KubernetesVersion: r.KubernetesVersion}
	token := opened.ClusterToken
	for i, object := range r.Cluster.Items {
		next.Changes = append(next.Changes, &plannerpb.Change{Change: &plannerpb.Change_PutJson{PutJson: object}})
		if len(next.Changes) < batch && i+1 < len(r.Cluster.Items) {
			continue
		}
		if err := sync.Send(next); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		reply, err := sync.Recv()
		if err != nil {
			return nil, err
		}
		token, next = reply.ClusterToken, &plannerpb.SyncRequest{}
	}
	if err := sync.CloseSend(); err != nil {
		return nil, err
	}
	input := &plannerpb.PlanInput{}
	if err := protojson.Unmarshal(r.Request, input); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	settings := &plannerpb.Settings{}
	if err := protojson.Unmarshal(r.Settings, settings); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	input.Session, input.ClusterToken, input.Settings = session, token, settings
	table, err := stub.PassTable(ctx, input)
	if err != nil {
		return nil, err
	}
	return message.ResultOf(table)
}
