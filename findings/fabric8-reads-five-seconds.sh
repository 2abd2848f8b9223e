#!/bin/bash
# fabric8's kubernetes-client 8.0.0 (Maven): a duration of 1.5 seconds as Kubernetes writes it, "1.5s", is read as five seconds, without an error; "-1h" is an hour.
#
# Guess before it was run: `Duration.parse` gives what Go's ParseDuration gives for 1h30m, 1.5h, 100ms and -1h: it is the type for metav1.Duration of Kubernetes. That Kubernetes writes
# "1.5s" itself was looked up afterwards.
# Seen: apimachinery 0.37.2 writes "1.5s" for 1,500 milliseconds, and the Java client makes PT5S of it, "18000000000000ns" (five hours) of "1.5h", and PT2H45M5S of "2h45m30.5s": what stands before the point is skipped, and
# so is a sign. A controller in Java that reads a timeout and writes the object back has changed it. Whole numbers ("1h30m", "100ms") are right.
# Needs a JDK of 17 or newer, Maven, Maven Central, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
JAVA=8.0.0 GO=v0.37.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > pom.xml << XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies><dependency><groupId>io.fabric8</groupId><artifactId>kubernetes-client-api</artifactId><version>$JAVA</version></dependency></dependencies>
</project>
XML
mvn --quiet dependency:build-classpath -Dmdep.outputFile=classpath > installed 2>&1 || { cat installed; exit 1; }
cat > Ask.java << 'PROGRAM'
import io.fabric8.kubernetes.api.model.Duration;

public class Ask {
  public static void main(String[] texts) throws Exception {
    for (String text : texts) System.out.print(Duration.parse(text).getDuration() + " ");
  }
}
PROGRAM
cat > main.go << 'PROGRAM'
package main

import (
	"encoding/json"
	"os"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	json.NewEncoder(os.Stdout).Encode([]meta.Duration{{Duration: 1500 * time.Millisecond}, {Duration: -time.Hour}})
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.26.0\n' > go.mod
{ go get "k8s.io/apimachinery@$GO" && go mod tidy && go build -o write .; } 2> build || { cat build; exit 1; }
written=$(./write)
read=$(java -cp "$(cat classpath)" Ask.java 1.5s -1h 1.5h 2h45m30.5s 1h30m 100ms)
echo "apimachinery $GO writes $written; fabric8 $JAVA reads 1.5s, -1h, 1.5h, 2h45m30.5s, 1h30m, 100ms as $read"
[ "$written" = '["1.5s","-1h0m0s"]' ] && [ "$read" = 'PT5S PT1H PT5H PT2H45M5S PT1H30M PT0.1S ' ]
