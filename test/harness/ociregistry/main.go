// An OCI registry in memory with the referrers API of distribution spec 1.1, for tests.
// Listens on the address that is its one argument.
package main

import (
	"log"
	"net/http"
	"os"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: ociregistry HOST:PORT")
	}
	log.Fatal(http.ListenAndServe(os.Args[1], ociserver.New(ocimem.New(), nil)))
}
