import { describe, expect, it } from 'vitest';
import { FleetError, formatError } from '../../../bundles/errors.ts';
import { compileTemplate } from '../../../scheduler/render/compile-template.ts';
import { CONTEXT, errorOf, go, handlebars } from './template-fixture.ts';

/** Fewer steps than the default, so that the tests are quick. */
const LESS = { limits: { maxSteps: 50_000 } };

describe('compileTemplate', () => {
  it('compiles once and renders many contexts', () => {
    const render = compileTemplate({
      engine: 'go',
      name: 'n',
      text: '{{ .Namespace }}',
      at: { file: 'a.yaml' },
    });
    expect(['one', 'two'].map((namespace) => render({ ...CONTEXT, namespace }))).toEqual(['one', 'two']);
  });

  it("gives Go templates Kalypso's struct, and Handlebars templates the same values in camel case", () => {
    expect(
      go(
        '{{ .DeploymentTargetName }} {{ .Namespace }} {{ .Environment }} {{ .Workspace }} {{ .Workload }} {{ .ClusterType }} {{ .Labels.purpose }} {{ .Manifests.path }} {{ .ConfigData.five }}',
      ),
    ).toBe('shop-web dev-edge-shop-web dev team-one shop edge web ./web 5');
    expect(
      handlebars(
        '{{deploymentTargetName}} {{namespace}} {{environment}} {{workspace}} {{workload}} {{clusterType}} {{labels.purpose}} {{manifests.path}} {{configData.five}} {{clusterTypeLabels.region}}',
      ),
    ).toBe('shop-web dev-edge-shop-web dev team-one shop edge web ./web 5 eu');
  });

  it('never renders templates inside values', () => {
    const value = '{{ .ClusterType }} {{clusterType}} {{ env "HOME" }}';
    expect(go('{{ .ConfigData.x }}', { x: value })).toBe(value);
    expect(handlebars('{{configData.x}}', { x: value })).toBe(value);
  });

  it.each([
    { engine: go, text: 'a\nb {{ .Nope }}', at: { line: 10, column: 12 } },
    { engine: go, text: '{{ .Nope }}', at: { line: 9, column: 10 } },
    { engine: go, text: 'a\r\n\r\n{{ end }}', at: { line: 11, column: 10 } },
    { engine: go, text: '{{ if true }}\n{{ upper\n  5 }}{{ end }}', at: { line: 10, column: 10 } },
    { engine: handlebars, text: 'a\nb {{nope}}', at: { line: 10, column: 11 } },
    { engine: handlebars, text: 'a\nb {{#if x}}', at: { line: 10, column: 18 } },
    { engine: handlebars, text: 'a\n  {{#if x}}{{/each}}', at: { line: 10, column: 12 } },
    { engine: handlebars, text: 'a long line of text {{ & }}', at: { line: 9, column: 30 } },
  ])('reports an error in $text at its position in the YAML file', ({ engine, text, at }) => {
    expect(errorOf(() => engine(text)).at).toEqual({ file: 'templates/default.yaml', ...at });
  });

  it('reports the position in the template when its position in the file is unknown', () => {
    const error = errorOf(() => go('a\n{{ .Nope }}', undefined, { source: { at: { file: 'a.yaml' } } }));
    expect(formatError(error)).toMatch(
      /^a\.yaml: TEMPLATE_FAILED: Template default: .*\(line 2, column 4 of the template\)/,
    );
  });

  it.each([
    '{{ range until 2000000 }}{{ end }}',
    '{{ range $i := until 2000 }}{{ range until 2000 }}x{{ end }}{{ end }}',
    '{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}',
    '{{ repeat 100000000 "x" }}',
    '{{ indent 100000000 "x" }}',
    '{{ printf "%500000d%500000d%500000d%500000d%500000d%500000d%500000d%500000d%500000d" 1 1 1 1 1 1 1 1 1 }}',
    '{{ $x := "xx" }}{{ range until 100 }}{{ $x = print $x $x }}{{ end }}',
    '{{ $x := list 1 }}{{ range until 100 }}{{ $x = list $x $x }}{{ end }}{{ print $x }}',
    '{{ $x := list 1 }}{{ range until 30 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}',
    '{{ $x := list 1 }}{{ range until 30 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}',
    '{{ $x := list 1 }}{{ range until 30 }}{{ $x = list $x $x }}{{ end }}{{ hash $x }}',
    '{{ $x := repeat 100000 "a" }}{{ range until 100000 }}{{ $y := replace "a" "b" $x }}{{ end }}',
    '{{ $x := repeat 100000 "a" }}{{ replace "" $x $x }}',
    '{{ range until 1000 }}{{ repeat 10000 "x" }}{{ end }}',
    '{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ template "a" }}',
    '{{ $x := "xx" }}{{ range until 100 }}{{ $x = cat $x $x | quote }}{{ end }}',
    '{{ printf "%*d" 1000000 1 | printf "%[1]s%[1]s%[1]s%[1]s%[1]s" }}',
    '{{ wrapWith 1 (repeat 10000 "--") (repeat 10000 "x") }}',
    '{{ range until 40000 }}{{ $x := regexMatch "(a*)*(a*)*b" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }}{{ end }}',
    '{{ regexMatch "(a*)*(a|a)*b" (repeat 200000 "a") }}',
    '{{ regexReplaceAll "" (repeat 20000 "a") (repeat 2000 "b") }}',
    '{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ $d }}',
    '{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ toYaml $d }}',
    '{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ deepCopy $d | len }}',
    '{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ printf "%q" $d }}',
    '{{ $d := dict }}{{ $e := dict }}{{ $_ := set $d "s" $d }}{{ $_ := set $e "s" $e }}{{ deepEqual $d $e }}',
    '{{ $d := dict }}{{ $e := dict }}{{ $_ := set $d "s" $d }}{{ $_ := set $e "s" $e }}{{ merge $d $e | len }}',
    '{{ fromJson (print (repeat 3000 "[") (repeat 3000 "]")) }}',
    '{{ range until 100 }}{{ $x := fromYaml (printf "a: %s" (repeat 5000 "x")) }}{{ end }}',
    '{{ date (repeat 100000 "2006") 0 }}',
    '{{ uniq (until 40000) | len }}',
    '{{ range until 2000 }}{{ $x := until 2000 }}{{ end }}',
    '{{ range 9223372036854775807 }}{{ end }}',
    '{{ untilStep 0 9007199254740991 1 }}',
    '{{ seq 9007199254740991 }}',
    `{{ ${'('.repeat(200)}1${')'.repeat(200)} }}`,
    `${'{{ if true }}'.repeat(200)}${'{{ end }}'.repeat(200)}`,
    'x'.repeat(2 ** 20 + 1),
  ])('stops a Go template above its limits: %j', (text) => {
    expect(errorOf(() => go(text, undefined, LESS)).code).toBe('TEMPLATE_LIMIT');
  });

  it.each([
    ['trim', '{{ trim (print "a" (repeat 300000 " ") "a") | len }}'],
    ['base', '{{ base (print (repeat 300000 "a") "/b") }}'],
    ['base32', '{{ b32dec (print (repeat 300000 "=") "A") }}'],
    ['white space in front of a trim marker', `a${' '.repeat(300_000)}a {{- 1 }}`],
    ['snakecase', '{{ snakecase (print (repeat 40000 "A") "a") | len }}'],
    ['a semantic version', '{{ semverCompare (repeat 100000 " ") "1.2.3" }}'],
    ['a large expression', '{{ regexMatch "((a{1000}){1000}){1000}" "a" }}'],
    ['a URL', '{{ urlParse (print "http://" (repeat 100000 ":1")) }}'],
  ])('runs in linear time: %s', (_what, text) => {
    const start = process.cpuUsage();
    try {
      go(text);
    } catch (error) {
      expect(error).toBeInstanceOf(FleetError);
    }
    // Quadratic, each takes minutes.
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'does not see Object.prototype: %s',
    (name) => {
      expect(go(`{{ .ConfigData.${name} }} {{ (dict).${name} }} {{ hasKey .ConfigData "${name}" }}`)).toBe(
        '<no value> <no value> false',
      );
      expect(go(`{{ dict "${name}" 1 }} {{ get (dict "${name}" 2) "${name}" }}`)).toBe(`map[${name}:1] 2`);
      expect(go(`{{ fromJson "{\\"${name}\\":1}" }} {{ fromYaml "${name}: 1" }}`)).toBe(
        `map[${name}:1] map[${name}:1]`,
      );
      expect(errorOf(() => handlebars(`{{configData.${name}}}`)).code).toBe('TEMPLATE_FAILED');
    },
  );

  it.each([
    '{{#each (until 2000)}}{{#each (until 2000)}}x{{/each}}{{/each}}',
    '{{#*inline "p"}}{{> p}}{{/inline}}{{> p}}',
    '{{#*inline "p"}}{{> p}}{{> p}}{{/inline}}{{> p}}',
    '{{repeat 100000000 "x"}}',
    `${'{{#if true}}'.repeat(200)}${'{{/if}}'.repeat(200)}`,
    `${'{{#if true}}'.repeat(20_000)}${'{{/if}}'.repeat(20_000)}`,
    `{{#if true}}${'{{else if true}}'.repeat(20_000)}{{/if}}`,
    `{{not ${'(not '.repeat(20_000)}1${')'.repeat(20_000)}}}`,
  ])('stops a Handlebars template above its limits: %j', (text) => {
    expect(errorOf(() => handlebars(text, undefined, LESS)).code).toBe('TEMPLATE_LIMIT');
  });

  it('limits the output in bytes, not in characters', () => {
    const limits = { maxOutputBytes: 10 };
    expect(go('äääää', undefined, { limits })).toBe('äääää');
    expect(errorOf(() => go('ääääää', undefined, { limits })).code).toBe('TEMPLATE_LIMIT');
  });

  it('refuses values nested 5,000 levels deep', () => {
    let deep: readonly unknown[] = [];
    for (let level = 0; level < 5000; level += 1) deep = [deep];
    for (const text of [
      '{{ .ConfigData }}',
      '{{ toYaml .ConfigData }}',
      '{{ toJson .ConfigData }}',
      '{{ hash .ConfigData }}',
    ])
      expect(errorOf(() => go(text, { deep: deep as never })).code).toBe('TEMPLATE_LIMIT');
  });
});
