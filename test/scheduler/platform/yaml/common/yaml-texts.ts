import * as fc from 'fast-check';

/** Texts as people and programs write them, each with something that the others do not have. */
export const TEXTS: readonly string[] = [
  'a: 1\n',
  `# Who this is of
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # not the api
  labels:
    app.kubernetes.io/name: web
    "quoted": 'it''s'
spec:
  replicas: 2
  template:
    metadata: {}

    # Runs alone
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.4.2
          args: ["--port", "8080", {a: b}]
          env: []
          ports:
          - containerPort: 8080
          - containerPort: 9090

          resources: {}
      nothing:
      last: ~
`,
  `kind: Config
metadata: {"name":"a","labels":{"x":"y"}}
spec: {
  "selector": {
    "region": "north"
  },
  "list": [
    "one",
    2,
    true
  ],
  "empty": {}
}
`,
  `apiVersion: v1
kind: ConfigMap
data:
  "LOG_LEVEL": "info"
  script: |
    #!/bin/sh
    if true; then

      echo "a: b"
    fi
  stripped: |-
    one
    two
  text: "a \\"b\\" \\u00e9 \\/ é"
  mode: 0644
  hex: 0x1F
  float: 1.50
  exp: 1e3
  inf: -.inf
  word: no
---
kind: Other
list:
- a: 1
  b:
    - c
# of d
- d
-   e: 5
    f: 6
`,
  '\n# first\n\n# second\n---\na:\n  b:\n    c: -1\nd: "x"',
];

const BITS = [
  '\n',
  ' ',
  '  ',
  ':',
  ': ',
  '- ',
  '-',
  '#',
  ' # c',
  '\n# c',
  '\n  # c',
  '"',
  "'",
  '{',
  '}',
  '[',
  ']',
  ',',

  '|',
  '|-\n',
  '>',
  '&a ',
  '*a',
  '!t ',
  '? ',
  '%',
  '\t',
  '\r\n',
  'null',
  '~',
  '0x1F',
  '.5',
  '---\n',
  '...\n',
  '\\',

  '@',
  '\n\n',
  'é',
  '\u2028',
  '\ufeff',
  '""',
  '{}',
  '[]',
  'a: b\n',
  '<<',
  '<<: *a\n',
  '-1',
  '+.inf',
  '\0',
];

type Change = {
  readonly how: 'put' | 'cut' | 'drop' | 'move' | 'twice';
  readonly at: number;
  readonly bit: string;
};

const change: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom('put', 'cut', 'drop', 'move', 'twice'),
  at: fc.nat(2000),
  bit: fc.constantFrom(...BITS),
});

const changed = (text: string, { how, at, bit }: Change): string => {
  const place = at % (text.length + 1);
  const lines = text.split('\n');
  const line = at % lines.length;
  switch (how) {
    case 'put':
      return text.slice(0, place) + bit + text.slice(place);
    case 'cut':
      return text.slice(0, place) + text.slice(place + 1 + (at % 3));
    case 'drop':
      return lines.toSpliced(line, 1).join('\n');
    case 'move':
      return lines
        .with(line, at % 2 === 0 ? ` ${lines[line]}` : String(lines[line]).replace(/^ {1,2}/, ''))
        .join('\n');
    case 'twice':
      return lines.toSpliced(line, 0, String(lines[at % 7])).join('\n');
  }
};

/** One of the texts, or a part of its lines, with a few changes: nearly right, or nearly wrong. */
export const nearlyYaml: fc.Arbitrary<string> = fc
  .record({
    text: fc.constantFrom(...TEXTS),
    from: fc.nat(30),
    lines: fc.integer({ min: 1, max: 40 }),
    changes: fc.array(change, { maxLength: 3 }),
  })
  .map(({ text, from, lines, changes }) => {
    const all = text.split('\n');
    const part = all.slice(from % all.length, (from % all.length) + lines);
    const margin = /^ */.exec(part[0] ?? '')?.[0].length ?? 0;
    const inner = part.map((line) => (line.slice(0, margin).trim() === '' ? line.slice(margin) : line));
    return changes.reduce(changed, `${inner.join('\n')}\n`);
  });
