import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exportStoredReports } from '../../../../../scheduler/hub/ingest/reports/export-reports.ts';
import { chain, enrolledHub, happenings, report } from '../../test-hub.ts';

const { signal } = new AbortController();

const filesBelow = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const read = files
    .toSorted()
    .map(async (file) => [file.slice(folder.length), await readFile(file, 'utf8')]);
  return Object.fromEntries(await Promise.all(read)) as Readonly<Record<string, string>>;
};

it('reports are exported byte for byte as received, with the site statement that names the key', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const stick = await hub.stick();
  const lines = chain(agent, happenings(5));
  await report(stick, agent, lines, 1, 2);
  await report(stick, agent, lines, 3, 5);
  await hub.importFrom(stick);
  const [site = '', name = ''] = agent.id.split('/');
  const to = join(hub.path, 'evidence');
  expect(await exportStoredReports(hub.store.db, to, { site, agent: name }, signal)).toMatchObject([
    { agent: agent.id, reports: 2, lost: 0 },
  ]);
  expect(await filesBelow(join(to, 'fleet/reports'))).toEqual(await filesBelow(join(stick, 'fleet/reports')));
  const statement = JSON.parse(await readFile(join(to, `${site}.site.sigstore.json`), 'utf8'));
  const payload = Buffer.from(statement.dsseEnvelope.payload, 'base64').toString();
  expect(JSON.parse(payload).predicate.agents).toMatchObject([{ name }]);
});

it.each([
  [{ site: 'plant-99' }, 'no agent of site plant-99 is known here'],
  [{ site: 'plant-7', agent: 'nobody' }, 'no agent plant-7/nobody is known here'],
])('%j is refused: SITE_MISSING', async (wanted, message) => {
  await using hub = await enrolledHub();
  const exporting = exportStoredReports(hub.store.db, join(hub.path, 'evidence'), wanted, signal);
  await expect(exporting).rejects.toMatchObject({ code: 'SITE_MISSING', message });
});
