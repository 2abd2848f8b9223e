package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"text/template"
	"unicode/utf8"

	sprig2 "github.com/Masterminds/sprig"
	sprig3 "github.com/Masterminds/sprig/v3"
	"github.com/mitchellh/hashstructure"
	"gopkg.in/yaml.v3"
)

// What a render did that no other engine can be held to.
type notes struct {
	// A function gave half a character.
	Halved bool `json:"halved,omitempty"`
	// A function took bytes for characters.
	Bytewise bool `json:"bytewise,omitempty"`
	// toJson gave up, and nobody heard of it.
	NoJson bool `json:"noJson,omitempty"`
}

// seen is of the request that is being answered.
var seen notes

// functions are those of the recorded scheduler, sprig 2.22; what only sprig 3 has is our extension.
var functions = func() template.FuncMap {
	all := template.FuncMap{}
	for name, function := range plain() {
		all[name] = watched(name, function)
	}
	return all
}()

func plain() template.FuncMap {
	all := sprig3.TxtFuncMap()
	for name, function := range sprig2.TxtFuncMap() {
		all[name] = function
	}
	// The library below sprig 2.22 turned its meaning round after the recorded scheduler was built; sprig 3 kept it.
	all["camelcase"] = sprig3.TxtFuncMap()["camelcase"]
	// Go leaves the order of a map open.
	all["keys"] = keys
	all["values"] = values
	all["toYaml"] = toYaml
	all["hash"] = func(value interface{}) (string, error) {
		sum, err := hashstructure.Hash(value, nil)
		return fmt.Sprintf("%d", sum), err
	}
	all["unquote"] = unquote
	// As in Go itself; sprig's takes lists only.
	delete(all, "slice")
	return all
}

func unquote(value interface{}) string {
	text, _ := value.(string)
	return strings.Trim(strings.Trim(strings.TrimSpace(text), "\""), "'")
}

func keys(dicts ...map[string]interface{}) []string {
	result := []string{}
	for _, dict := range dicts {
		result = append(result, sorted(dict)...)
	}
	return result
}

func values(dict map[string]interface{}) []interface{} {
	result := []interface{}{}
	for _, key := range sorted(dict) {
		result = append(result, dict[key])
	}
	return result
}

func sorted(dict map[string]interface{}) []string {
	result := []string{}
	for key := range dict {
		result = append(result, key)
	}
	sort.Strings(result)
	return result
}

func toYaml(value interface{}) (string, error) {
	encoded, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(encoded), "\n"), err
}

var bytewise = map[string]bool{"nospace": true, "initials": true}

func watched(name string, function interface{}) interface{} {
	value := reflect.ValueOf(function)
	return reflect.MakeFunc(value.Type(), func(arguments []reflect.Value) []reflect.Value {
		if bytewise[name] && strings.ContainsFunc(arguments[0].String(), func(letter rune) bool { return letter > 127 }) {
			seen.Bytewise = true
		}
		var results []reflect.Value
		if value.Type().IsVariadic() {
			results = value.CallSlice(arguments)
		} else {
			results = value.Call(arguments)
		}
		if text, ok := results[0].Interface().(string); ok {
			seen.Halved = seen.Halved || !utf8.ValidString(text)
			seen.NoJson = seen.NoJson || text == "" && strings.HasSuffix(name, "Json")
		}
		return results
	}).Interface()
}

// A signature as JSON: the types of the parameters, the last one repeated where Variadic.
type signature struct {
	Parameters []string `json:"parameters"`
	Variadic   bool     `json:"variadic"`
	Sprig2     bool     `json:"sprig2"`
}

func signatures() map[string]signature {
	result := map[string]signature{}
	old := sprig2.TxtFuncMap()
	for name, function := range plain() {
		typ := reflect.TypeOf(function)
		one := signature{Parameters: []string{}, Variadic: typ.IsVariadic()}
		for index := range typ.NumIn() {
			one.Parameters = append(one.Parameters, typ.In(index).String())
		}
		_, one.Sprig2 = old[name]
		result[name] = one
	}
	return result
}
