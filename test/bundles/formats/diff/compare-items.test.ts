import { expect, test } from 'vitest';
import { compareItems } from '#bundles/formats/diff/compare-items';
import { readItems } from '#bundles/formats/diff/read-items';

test('a host package, one line of JSON, is compared field by field', () => {
  const itemOf = (units: readonly object[]) =>
    readItems(
      new Map([
        ['package.json', Buffer.from(JSON.stringify({ directories: [], files: [], name: 'web', units }))],
      ]),
    ).get('package.json');
  const before = itemOf([{ enabled: true, name: 'web.service' }]);
  const after = itemOf([{ enabled: false, name: 'web.service' }]);
  expect(compareItems(before, after)?.diff).toBe(`@@ -3,4 +3,4 @@
 files: []
 units:
   - name: web.service
-    enabled: true
+    enabled: false
`);
  expect(compareItems(undefined, after)?.diff).toContain('+  - name: web.service\n+    enabled: false\n');
});

/** The only item of a file with this text. */
const itemAt = (path: string) => (text: string) => {
  const [item] = readItems(new Map([[path, Buffer.from(text)]])).values();
  return item;
};

test.each([
  ['platform-config.yaml', 'port: 80\ndbPassword: hush\n', 'port: 81\ndbPassword: hush-hush\n'],
  ['platform-config.yaml', 'port: 80\ndbPassword: |\n  hush\n  hush\n', 'port: 81\ndbPassword: hush-hush\n'],
  ['platform-config.json', '{"port": 80, "dbPassword": "hush"}', '{"port": 81, "dbPassword": "hush-hush"}'],
  ['etc/platform-config.env', 'PORT=80\nDB_PASSWORD=hush\n', 'PORT=81\nDB_PASSWORD="hush-hush"\n'],
  [
    'platform-config.sh',
    "export PORT=80\nexport API_TOKEN='hush'\n",
    "export PORT=81\nexport API_TOKEN='x'\n",
  ],
])(
  'a file of configuration, %s, is compared without the text of values that may be secrets',
  (path, old, now) => {
    const itemOf = itemAt(path);
    const diff = compareItems(itemOf(old), itemOf(now))?.diff ?? '';
    expect(diff).toMatch(/-.*80[^]*\+.*81/);
    expect(diff).not.toContain('hush');
    expect(diff).toContain('***');
    expect(diff).not.toContain('ConfigMap');
    // Only the secret differs.
    const other = compareItems(itemOf(old), itemOf(old.replaceAll('hush', 'loud')));
    expect(other?.diff).toMatch(/\(before\)[^]*\(after\)/);
    expect(other?.diff).not.toMatch(/hush|loud/);
  },
);

test.each([
  ['env', 'API_TOKEN="hush\nhush"\n'],
  ['env', 'API_TOKEN="it\'s\nhush"\n'],
  ['env', 'API_TOKEN="a \\"\nhush"\n'],
  ['sh', "export API_TOKEN='it'\\''s\nhush'\n"],
])(
  'a secret value of configuration with more than one line in quotes shows nothing of the file: %s, %j',
  (extension, text) => {
    const path = `platform-config.${extension}`;
    const itemOf = itemAt(path);
    const diff = compareItems(itemOf('A=1\n'), itemOf(`${text}A=2\n`))?.diff;
    expect(diff).toContain('+it has values that may be secrets: not shown');
    expect(diff).not.toContain('hush');
  },
);

test('a secret value of configuration on one line hides only itself, with any quotes in it', () => {
  const path = 'platform-config.sh';
  const itemOf = itemAt(path);
  const diff = compareItems(itemOf('A=1\n'), itemOf("export API_TOKEN='it'\\''s hush'\nA=2\n"))?.diff;
  expect(diff).toContain('+export API_TOKEN=***\n');
  expect(diff).toContain('+A=2');
});

test.each([
  ['platform-config.yaml', 'port: 80\nmanifest: |\n  kind: Secret\n  stringData: { a: hush }\n'],
  ['platform-config.yaml', 'apiVersion: v1\nkind: Secret\nstringData: { a: hush }\n'],
  ['platform-config.env', 'PORT=80\nMANIFEST="kind: Secret\nstringData: { a: hush }"\n'],
])(
  'a Secret in a file of configuration, %s, is not shown, also under a name that no secret has',
  (path, text) => {
    const itemOf = itemAt(path);
    expect(compareItems(itemOf(text), itemOf(text.replace('hush', 'loud')))?.diff).not.toMatch(/hush|loud/);
  },
);

test.each([
  [
    'platform-config.yaml',
    'port: 80\ndb: { host: here, password: hush }\n',
    'port: 81\ndb: { host: here, password: hush2 }\n',
  ],
  [
    'platform-config.yaml',
    'port: 80\ndbs:\n- { host: here, login: { apiToken: hush } }\n',
    'port: 81\ndbs:\n- { host: here, login: { apiToken: hush2 } }\n',
  ],
  ['platform-config.yaml', '- port: 80\n- password: hush\n', '- port: 81\n- password: hush2\n'],
  [
    'platform-config.yaml',
    'port: 80\nenv:\n- { name: DB_PASSWORD, value: hush }\n',
    'port: 81\nenv:\n- { name: DB_PASSWORD, value: hush2 }\n',
  ],
  [
    'platform-config.yaml',
    'port: 80\napp.yaml: |\n  db:\n    password: hush\n',
    'port: 81\napp.yaml: |\n  db:\n    password: hush2\n',
  ],
  [
    'platform-config.yaml',
    'port: 80\napp.properties: |\n  db.password=hush\n',
    'port: 81\napp.properties: |\n  db.password=hush2\n',
  ],
  ['platform-config.json', '{"port":80,"db":{"password":"hush"}}', '{"port":81,"db":{"password":"hush2"}}'],
  [
    'platform-config.env',
    `PORT=80\nDB='{"host":"here","password":"hush"}'\n`,
    `PORT=81\nDB='{"host":"here","password":"hush2"}'\n`,
  ],
  [
    'map.yaml',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: platform-config }\ndata:\n  port: "80"\n  db: "host: here\\npassword: hush\\n"\n',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: platform-config }\ndata:\n  port: "81"\n  db: "host: here\\npassword: hush2\\n"\n',
  ],
])(
  'configuration with a secret value below the top level, %s %j, is compared without its text',
  (path, old, now) => {
    const itemOf = itemAt(path);
    const before = itemOf(old);
    const after = itemOf(now);
    const diff = compareItems(before, after)?.diff ?? '';
    expect(diff).toMatch(/-.*80[^]*\+.*81/);
    expect(diff).not.toContain('hush');
    expect(diff).toContain('***');
    const secret = compareItems(before, itemOf(old.replaceAll('hush', 'loud')))?.diff;
    expect(secret).toMatch(/\(before\)[^]*\(after\)/);
    expect(secret).not.toMatch(/hush|loud/);
  },
);

test.each([
  ['yaml', 'port: 80\n\tdb: [\npassword: |\n  hush\n'],
  ['json', '{"db": {"password": "hush"}'],
  ['env', `DB='{"password":\n"hush"}'\n`],
])('configuration that cannot be read and names a secret value is not shown: %s', (extension, text) => {
  const path = `platform-config.${extension}`;
  const itemOf = itemAt(path);
  expect(compareItems(itemOf('A: 1\n'), itemOf(text))?.diff).not.toContain('hush');
});

test('configuration without a secret value is shown unchanged, and its text that is YAML keeps its other fields', () => {
  const path = 'platform-config.yaml';
  const itemOf = itemAt(path);
  const plain = compareItems(itemOf('# ours\ndb: { host: a }\n'), itemOf('# ours\ndb: { host: b }\n'))?.diff;
  expect(plain).toContain('+db: { host: b }');
  expect(plain).toContain(' # ours');
  const app = (host: string) => itemOf(`app.yaml: |\n  host: ${host}\n  password: hush\n`);
  expect(compareItems(app('left'), app('right'))?.diff).toMatch(/-.*host: left[^]*\+.*host: right/);
});
