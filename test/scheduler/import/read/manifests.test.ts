import { expect, test } from 'vitest';
import { readManifests } from '../../../../scheduler/import/read/manifests.ts';

test.each([
  ['an alias without an anchor', 'kind: A\nb: *nowhere\n'],
  ['a mistake', 'kind: [A\n'],
])('a document with %s has no objects, and does not end the import', (_, text) => {
  const read = readManifests('a.yaml', 'a.yaml', Buffer.from(`${text}---\nkind: B\n`));
  expect(read.map(({ value }) => value)).toEqual([{ kind: 'B' }]);
});
