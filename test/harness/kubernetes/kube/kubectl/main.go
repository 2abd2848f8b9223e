// kubectl without the servers, whose packages take longer to start than most of what it is asked.
package main

import (
	"os"

	_ "fleet-ferry.invalid/kube/untranslated"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
}
