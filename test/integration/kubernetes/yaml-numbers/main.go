// Answers, for each line of standard input (a JSON text: a YAML document), with the JSON that kubectl sends for it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var text string
		answer := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			answer["error"] = err.Error()
		} else if made, err := yaml.YAMLToJSON([]byte(text)); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["json"] = string(made)
		}
		line, _ := json.Marshal(answer)
		fmt.Fprintln(out, string(line))
		out.Flush()
	}
}
