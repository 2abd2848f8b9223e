import { expect, test } from 'vitest';
import { readItems } from '#bundles/formats/diff/read-items';
import { comparedValues } from '../../../../../scheduler/hub/questions/answers/compared-values.ts';

const itemsOf = (path: string, text: string) => readItems(new Map([[path, Buffer.from(text)]]));
const map = (data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: platform-config }\ndata:\n${data}`;

test.each([
  [
    'platform-config.yaml',
    'db: { host: left, password: hush }\n',
    'db: { host: right, password: loud }\n',
    { host: 'left', password: '*** (before)' },
    { host: 'right', password: '*** (after)' },
  ],
  [
    'platform-config.json',
    '{"db":[{"host":"left","password":"hush"}]}',
    '{"db":[{"host":"right","password":"hush"}]}',
    [{ host: 'left', password: '***' }],
    [{ host: 'right', password: '***' }],
  ],
  [
    'map.yaml',
    map('  db: "host: left\\npassword: hush\\n"\n'),
    map('  db: "host: right\\npassword: loud\\n"\n'),
    'host: left\npassword: "*** (before)"\n',
    'host: right\npassword: "*** (after)"\n',
  ],
])(
  'secret values below the top level of %s are withheld, and those beside them are compared',
  (path, left, right, old, now) => {
    const changed = comparedValues(itemsOf(path, left), itemsOf(path, right));
    expect(changed.map(({ name }) => name)).toEqual(['db']);
    expect([changed[0]?.old, changed[0]?.new].map((text) => JSON.parse(text ?? 'null'))).toEqual([old, now]);
  },
);
