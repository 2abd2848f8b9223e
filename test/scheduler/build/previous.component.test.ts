import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeOffice, summarise } from '../release/removals/office.ts';

test('a build whose earlier releases are missing ends with its remedy, and the first one goes without them', async () => {
  const office = await makeOffice();
  await expect(office.build({ previous: office.layout })).rejects.toMatchObject({
    code: 'MEDIUM_MISSING',
    message: expect.stringContaining(`${office.layout} is not an OCI layout`),
    hint: 'Leave out --previous in the first build of all. In a later one, restore the layout or mount its volume',
  });
  const lines = summarise(await office.build());
  expect(lines).not.toEqual([]);
  expect(lines.filter((line) => !line.endsWith(' released 1'))).toEqual([]);
  expect(summarise(await office.build({ previous: join(office.folder, 'out') }))).toEqual(
    lines.map((line) => line.replace('released', 'unchanged')),
  );
});
