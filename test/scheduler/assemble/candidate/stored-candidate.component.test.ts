import { expect, test } from 'vitest';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { readCandidate } from '../../../../scheduler/assemble/candidate/read-candidate.ts';
import { makeOffice, type Office, summarise } from '../../release/removals/office.ts';

/** Builds, and builds again from the candidate that the first build reported. */
const buildTwice = async (office: Office) => {
  const first = await office.build();
  const digest = first.environments[0]?.candidate ?? '';
  const layouts = [openBlobDirectory(office.layout)];
  const candidate = await readCandidate(digest, layouts, new AbortController().signal);
  return { first, again: await office.build({ candidate }), digest };
};

test('the candidate of every build is stored and can be built again, with and without a release', async () => {
  const office = await makeOffice();
  const released = await buildTwice(office);
  expect(summarise(released.first)).toEqual(['press released 1', 'till released 1']);
  await office.edit('platform/base/press.yaml', (text) => `# a comment\n${text}`);
  const unchanged = await buildTwice(office);
  expect(unchanged.digest).not.toBe(released.digest);
  expect(summarise(unchanged.first)).toEqual(['press unchanged 1', 'till unchanged 1']);
  expect(unchanged.again.environments[0]?.candidate).toBe(unchanged.digest);
  await office.edit('platform/base/screens.yaml', (text) => text.replace('place: hall', 'place: attic'));
  const held = await buildTwice(office);
  expect(held.first.channels.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
  expect(held.again.environments[0]?.candidate).toBe(held.digest);
});
