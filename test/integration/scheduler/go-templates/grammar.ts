import * as fc from 'fast-check';
import { FUNCTION_NAMES } from '../../../../scheduler/render/go/functions/functions.ts';
import { argumentsOf, isChosen, LEAVES, RANGED } from './arguments.ts';

/** Templates over the whole language and all functions that Go has too; many fail somewhere, which both must agree on. */

/** Functions of ours that sprig and Go do not have. */
export const OURS: readonly string[] = ['fromYaml', 'mustPush', 'stringify'];

const FUNCTIONS = FUNCTION_NAMES.filter((name) => !OURS.includes(name));

const leaf = fc.constantFrom(...LEAVES);

const call: fc.Memo<string> = fc.memo((depth) => {
  const nested =
    depth <= 1
      ? leaf
      : fc.oneof(
          leaf,
          call(depth - 1).map((text) => `(${text})`),
        );
  return fc
    .constantFrom(...FUNCTIONS)
    .chain((name) => argumentsOf(name, nested).map((words) => [name, ...words].join(' ')));
});

/** The last argument piped in, as people write it. */
const piped: fc.Memo<string> = fc.memo((depth) => {
  const other = depth <= 1 ? leaf : fc.oneof(leaf, call(depth - 1));
  return fc.constantFrom(...FUNCTIONS).chain((name) =>
    argumentsOf(name, leaf).chain((words) => {
      const stage = [name, ...words.slice(0, -1)].join(' ');
      const own = fc.constant(words.at(-1) ?? '1');
      // An argument that was chosen with care is not replaced.
      const isFree = words.length > 0 && !isChosen(name, words.length - 1);
      const from = isFree ? fc.oneof({ weight: 2, arbitrary: own }, { weight: 1, arbitrary: other }) : own;
      return from.map((text) => `${text} | ${stage}`);
    }),
  );
});

const chained = fc
  .tuple(
    fc.constantFrom('.ConfigData', '.ConfigData.nested', '$.ConfigData', '$'),
    fc.constantFrom('nested', 'a', 'list', 'nope', 'Labels', 'ConfigData', 'b'),
  )
  .map(([start, field]) => `(${start}).${field}`);

const expression = fc.oneof(
  { weight: 2, arbitrary: leaf },
  { weight: 6, arbitrary: call(2) },
  { weight: 3, arbitrary: piped(2) },
  { weight: 1, arbitrary: chained },
  { weight: 1, arbitrary: fc.constantFrom('$x', '$y', '$', '$k', '$v') },
);

const open = fc.constantFrom('{{ ', '{{- ', '{{');
const close = fc.constantFrom(' }}', ' -}}');
const action = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(open, inner, close).map(([left, text, right]) => `${left}${text}${right}`);

const text = fc.constantFrom('text ', '\n', '  ', 'key: ', '- ', '}}', '{ ', '\t', ' \n ', 'ä ');
const comment = fc.constantFrom('{{/* a comment */}}', '{{- /* trimmed */ -}}', '{{/* {{ */ -}}');
const named = fc.constantFrom('"one"', '"two"', '`one`');

/** `x`, `y`, `k` and `v` are declared in front, so that most uses of variables are right. */
const PREAMBLE = '{{ $x := 1 }}{{ $y := "why" }}{{ $k := "" }}{{ $v := nil }}'.replace(
  'nil',
  '.ConfigData.nothing',
);

const body: fc.Memo<string> = fc.memo((depth) => {
  const piece = fc.oneof(
    { weight: 3, arbitrary: text },
    { weight: 6, arbitrary: action(expression) },
    { weight: 1, arbitrary: comment },
    { weight: 1, arbitrary: action(expression.map((value) => `$x = ${value}`)) },
    { weight: 1, arbitrary: action(expression.map((value) => `$y := ${value}`)) },
    {
      weight: 1,
      arbitrary: action(fc.tuple(named, leaf).map(([name, value]) => `template ${name} ${value}`)),
    },
    { weight: 1, arbitrary: action(named.map((name) => `template ${name}`)) },
  );
  const pieces = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.array(arbitrary, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
  if (depth <= 1) return pieces(piece);
  const inner = body(depth - 1);
  const end = action(fc.constant('end'));
  const none = fc.constant('');
  const orElse = (keyword: string): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 2, arbitrary: none },
      { weight: 2, arbitrary: fc.tuple(action(fc.constant('else')), inner).map((parts) => parts.join('')) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(action(expression.map((value) => `else ${keyword} ${value}`)), inner)
          .map((parts) => parts.join('')),
      },
    );
  const control = (
    head: fc.Arbitrary<string>,
    middle: fc.Arbitrary<string>,
    last: fc.Arbitrary<string>,
  ): fc.Arbitrary<string> => fc.tuple(action(head), middle, last, end).map((parts) => parts.join(''));
  const ranged = fc.constantFrom(...RANGED);
  const rangeHead = fc
    .tuple(fc.constantFrom('', '$v := ', '$k, $v := ', '$k, $v = ', '$x = '), ranged)
    .map(([variables, value]) => `range ${variables}${value}`);
  const leaving = fc
    .tuple(
      inner,
      fc.constantFrom(
        '',
        '{{ break }}',
        '{{ continue }}',
        '{{ if eq . "b" }}{{ break }}{{ end }}',
        '{{ if $v }}{{ continue }}{{ end }}',
      ),
      text,
    )
    .map((parts) => parts.join(''));
  return pieces(
    fc.oneof(
      { weight: 4, arbitrary: piece },
      {
        weight: 1,
        arbitrary: control(
          expression.map((value) => `if ${value}`),
          inner,
          orElse('if'),
        ),
      },
      {
        weight: 1,
        arbitrary: control(
          expression.map((value) => `with ${value}`),
          inner,
          orElse('with'),
        ),
      },
      {
        weight: 1,
        arbitrary: control(
          expression.map((value) => `with $y := ${value}`),
          inner,
          none,
        ),
      },
      {
        weight: 2,
        arbitrary: control(
          rangeHead,
          leaving,
          fc.oneof(
            none,
            inner.map((other) => `{{ else }}${other}`),
          ),
        ),
      },
      {
        weight: 1,
        arbitrary: control(
          fc
            .tuple(fc.constantFrom('"three"', '"four"'), leaf)
            .map(([name, value]) => `block ${name} ${value}`),
          fc.constantFrom('[{{ . }}]', 'x', '{{ len . }}'),
          none,
        ),
      },
    ),
  );
});

const definitions = fc.constantFrom(
  '{{ define "one" }}<{{ . }}>{{ end }}{{ define "two" -}} {{ $ | toString }} {{- end }}',
  '{{ define "one" }}{{ template "two" . }}{{ end }}{{ define "two" }}{{ range $i, $e := . }}{{ $i }}{{ end }}{{ end }}',
  '{{ define "one" }}{{ end }}{{ define "two" }}{{ with . }}{{ . | kindOf }}{{ else }}none{{ end }}{{ end }}',
);

/** The function named `only` in each template, where one is given. */
export const templates: fc.Arbitrary<string> = fc
  .tuple(definitions, body(3))
  .map(([defined, main]) => `${defined}${PREAMBLE}${main}`);

/** One call alone, which is what shows most of a function. */
export const calls: fc.Arbitrary<string> = fc.oneof(call(2), piped(1)).map((value) => `{{ ${value} }}`);

/** One call of this function, as text and with its type. */
export const callsOf = (name: string): fc.Arbitrary<string> =>
  argumentsOf(name, leaf).map((words) => {
    const value = [name, ...words].join(' ');
    return `{{ ${value} }}|{{ typeOf (${value}) }}|{{ printf "%v %q" (${value}) (${value}) }}`;
  });
