//go:build !kubernetes137

package main

const kubernetesVersion = "1.36"
