// kube is a whole Kubernetes for tests in one program: `kube kube-apiserver --etcd-servers=...`.
// A link that bears the name of one of the programs works as well, as kubectl in a host's PATH.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func cobraProgram(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          cobraProgram(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraProgram(controllers.NewControllerManagerCommand),
	"kube-scheduler":          cobraProgram(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 cobraProgram(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 cobraProgram(kubectl.NewDefaultKubectlCommand),
}

func main() {
	os.Args[0] = filepath.Base(os.Args[0])
	if _, linked := programs[os.Args[0]]; !linked && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	run, known := programs[os.Args[0]]
	if !known {
		names := make([]string, 0, len(programs))
		for name := range programs {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "kube: no program %q; there are %s\n", os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	run()
}
