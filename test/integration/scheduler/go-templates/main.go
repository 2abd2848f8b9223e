// Renders templates with the real Go engine, the real sprig and the real yaml.v3, as the oracle of our own.
// Reads a JSON object a line, {"template", "context"}, {"yaml"}, {"pattern", "text"} or {"signatures"}, and writes {"output"} or
// {"error"} a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

type request struct {
	Template *string         `json:"template"`
	Context  json.RawMessage `json:"context"`
	Yaml     json.RawMessage `json:"yaml"`
	Pattern  *string         `json:"pattern"`
	Text     string          `json:"text"`
	// The signatures of all functions are asked for.
	Signatures bool `json:"signatures"`
}

type response struct {
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	notes
}

type data struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ConfigData           map[string]interface{}
}

// decode keeps integers and floats apart, and reads {"$map": [[key, value]]} as a map with keys of any type.
func decode(raw json.RawMessage) (interface{}, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value interface{}
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return convert(value)
}

func convert(value interface{}) (interface{}, error) {
	switch typed := value.(type) {
	case json.Number:
		text := typed.String()
		if strings.ContainsAny(text, ".eE") {
			return strconv.ParseFloat(text, 64)
		}
		if small, err := strconv.Atoi(text); err == nil {
			return small, nil
		}
		return strconv.ParseUint(text, 10, 64)
	case []interface{}:
		for index, item := range typed {
			converted, err := convert(item)
			if err != nil {
				return nil, err
			}
			typed[index] = converted
		}
		return typed, nil
	case map[string]interface{}:
		if pairs, ok := typed["$map"].([]interface{}); ok {
			result := map[interface{}]interface{}{}
			for _, pair := range pairs {
				converted, err := convert(pair)
				if err != nil {
					return nil, err
				}
				both := converted.([]interface{})
				result[both[0]] = both[1]
			}
			return result, nil
		}
		for key, item := range typed {
			converted, err := convert(item)
			if err != nil {
				return nil, err
			}
			typed[key] = converted
		}
		return typed, nil
	default:
		return value, nil
	}
}

func texts(value interface{}) map[string]string {
	result := map[string]string{}
	for key, item := range value.(map[string]interface{}) {
		result[key] = item.(string)
	}
	return result
}

// The answer to a question about a regular expression: where it matches, or that it is none.
func match(pattern string, text string) (string, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(compiled.FindAllStringSubmatchIndex(text, -1))
	return string(encoded), err
}

func render(one request) (output string, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("panic: %v", recovered)
		}
	}()
	if one.Signatures {
		encoded, err := json.Marshal(signatures())
		return string(encoded), err
	}
	if one.Pattern != nil {
		return match(*one.Pattern, one.Text)
	}
	if one.Template == nil {
		value, err := decode(one.Yaml)
		if err != nil {
			return "", err
		}
		return toYaml(value)
	}
	decoded, err := decode(one.Context)
	if err != nil {
		return "", err
	}
	fields := decoded.(map[string]interface{})
	text := func(name string) string { return fields[name].(string) }
	context := data{
		DeploymentTargetName: text("deploymentTargetName"),
		Namespace:            text("namespace"),
		Environment:          text("environment"),
		Workspace:            text("workspace"),
		Workload:             text("workload"),
		Labels:               texts(fields["labels"]),
		Manifests:            texts(fields["manifests"]),
		ClusterType:          text("clusterType"),
		ConfigData:           fields["configData"].(map[string]interface{}),
	}
	parsed, err := template.New("manifest").Funcs(functions).Parse(*one.Template)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, context)
	return out.String(), err
}

func main() {
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(make([]byte, 1024*1024), 64*1024*1024)
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	for scanner.Scan() {
		var one request
		var answer response
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			answer.Error = err.Error()
		} else if output, err := render(one); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Output = &output
		}
		answer.notes = seen
		seen = notes{}
		if err := encoder.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
