// Judges configuration with the modules that Kalypso uses (gojsonschema, json-iterator, yaml.v2), as the oracle of our own form for it.
// Reads a JSON object a line, {"schema", "values" or "document"}, {"format", "text"} or {"yaml"}, and writes a response a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"

	jsoniter "github.com/json-iterator/go"
	"github.com/xeipuuv/gojsonschema"
	"gopkg.in/yaml.v2"
)

type request struct {
	Schema *string `json:"schema"`
	// The data of a ConfigMap, or any JSON document.
	Values   map[string]string `json:"values"`
	Document *string           `json:"document"`
	Format   *string           `json:"format"`
	Text     string            `json:"text"`
	Yaml     *string           `json:"yaml"`
}

type response struct {
	Valid bool `json:"valid"`
	// What is wrong with the values.
	Failures []string `json:"failures,omitempty"`
	// Why nothing can be judged.
	Error string      `json:"error,omitempty"`
	Value interface{} `json:"value"`
}

// read gives a ConfigMap's value as Kalypso does: lists and mappings of YAML 1.1, everything else as the text it is.
func read(text string) interface{} {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "'") && strings.HasSuffix(trimmed, "'") {
		return strings.Trim(trimmed, "'")
	}
	var object interface{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return text
	}
	switch object.(type) {
	case []interface{}, map[interface{}]interface{}:
		return object
	}
	return text
}

// coerce makes numbers of the values at the top that read as numbers, for the validator only.
func coerce(value interface{}) interface{} {
	text, ok := value.(string)
	if !ok {
		return value
	}
	if whole, err := strconv.Atoi(text); err == nil {
		return whole
	}
	if float, err := strconv.ParseFloat(text, 64); err == nil {
		return float
	}
	return text
}

// encodeValues gives the document that Kalypso judges.
func encodeValues(texts map[string]string) ([]byte, error) {
	values := map[string]interface{}{}
	for key, text := range texts {
		values[key] = coerce(read(text))
	}
	return jsoniter.ConfigCompatibleWithStandardLibrary.Marshal(values)
}

func judge(asked request) (answer response) {
	defer func() {
		if thrown := recover(); thrown != nil {
			answer = response{Error: fmt.Sprint(thrown)}
		}
	}()
	var document []byte
	var err error
	if asked.Document != nil {
		document = []byte(*asked.Document)
	} else if document, err = encodeValues(asked.Values); err != nil {
		return response{Error: err.Error()}
	}
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(*asked.Schema), gojsonschema.NewBytesLoader(document))
	if err != nil {
		return response{Error: err.Error()}
	}
	answer.Valid = result.Valid()
	for _, failure := range result.Errors() {
		answer.Failures = append(answer.Failures, failure.String())
	}
	return answer
}

// tagged writes a value with its Go type: {"int"}, {"float"}, {"map": [[key, value]]} in the order of the keys' JSON.
func tagged(value interface{}) interface{} {
	switch typed := value.(type) {
	case []interface{}:
		items := []interface{}{}
		for _, item := range typed {
			items = append(items, tagged(item))
		}
		return items
	case map[interface{}]interface{}:
		pairs := [][2]interface{}{}
		for key, item := range typed {
			pairs = append(pairs, [2]interface{}{tagged(key), tagged(item)})
		}
		sort.Slice(pairs, func(a, b int) bool { return encode(pairs[a][0]) < encode(pairs[b][0]) })
		return map[string]interface{}{"map": pairs}
	case float64:
		return map[string]string{"float": fmt.Sprint(typed)}
	case int, int64, uint64:
		return map[string]string{"int": fmt.Sprint(typed)}
	default:
		return value
	}
}

func encode(value interface{}) string {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(encoded.String())
}

func answer(asked request) response {
	switch {
	case asked.Schema != nil:
		return judge(asked)
	case asked.Format != nil:
		return response{Valid: gojsonschema.FormatCheckers.IsFormat(*asked.Format, asked.Text)}
	default:
		return response{Value: tagged(read(*asked.Yaml))}
	}
}

// nowhere answers what a schema wants from another machine.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing is fetched")
}

func main() {
	http.DefaultTransport = nowhere{}
	output := json.NewEncoder(os.Stdout)
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	for input.Scan() {
		var asked request
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := output.Encode(answer(asked)); err != nil {
			panic(err)
		}
	}
}
