import { cp, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { type Office, openOffice } from '../../e2e/office.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { carryOut, type Site, startSite, withoutUnits } from './folder-site.ts';

let folder: TemporaryDirectory;
let office: Office;
const sites: Site[] = [];

const git = async (...words: readonly string[]): Promise<void> => {
  const person = ['-c', 'user.name=Ada', '-c', 'user.email=ada@halden.example'];
  succeed(await runCommand(['git', ...person, '-C', join(folder.path, 'repository'), ...words]));
};

/** Writes the layers of the regions, commits them, and builds from the repository. */
const commitLayers = async (north: number): Promise<void> => {
  const layer = (name: string, selector: string, line: number): string =>
    `apiVersion: fleet-ferry/v1alpha1\nkind: Config\nmetadata: {name: ${name}}\nspec:\n  siteSelector: ${selector}\n  values: {lineNumber: ${line}}\n`;
  const text = [
    layer('company', '{}', 1),
    layer('north', '{region: north}', north),
    layer('plant-8-line-a', '{site: plant-8, region: north}', 80),
  ].join('---\n');
  await writeFile(join(folder.path, 'repository/platform/base/configs/sites.yaml'), text);
  await git('add', '--all');
  await git('commit', '--quiet', '--message', `Line ${north} in the north`);
  const platform = `file://${join(folder.path, 'repository')}#main:platform`;
  await office.build('--platform', platform);
};

const enrol = async (name: string, region: string): Promise<void> => {
  const site = await startSite(office, name);
  const { medium, agent } = site;
  const words = ['--fleet', 'halden', '--site', name, '--name', 'press-1', '--channel', 'prod/factory-host'];
  const label = ['--label', `region=${region}`, '--root-sha256', office.rootSha256];
  succeed(await agent('enroll', medium, ...words, ...label));
  succeed(await office.scheduler('sites', 'enroll', medium, ...(await acceptRequests(medium))));
  sites.push(site);
};

const lineAt = async ({ host }: Site): Promise<number> =>
  (JSON.parse(await readFile(join(host, 'etc/scale-reader/scale.json'), 'utf8')) as { line: number }).line;

const bundles = async (): Promise<readonly string[]> => {
  const { manifests } = await openLayout(join(folder.path, 'releases'));
  return manifests
    .flatMap(({ annotations }) => Object.values(annotations ?? {}).filter((name) => /:b-/.test(name)))
    .toSorted();
};

beforeAll(async () => {
  folder = await temporaryDirectory('site-layers');
  office = await openOffice(folder.path);
  await withoutUnits(office);
  for (const part of ['platform', 'apps'])
    await cp(join(folder.path, part), join(folder.path, 'repository', part), { recursive: true });
  await git('init', '--quiet', '--initial-branch', 'main');
});
afterAll(() => folder[Symbol.asyncDispose]());

test('a value of a region in the repository reaches a file of its sites, and changes no bundle', async () => {
  await commitLayers(7);
  await enrol('plant-7', 'north');
  await enrol('plant-8', 'north');
  await enrol('plant-9', 'south');
  // The answer to a request has the composed values already.
  const again = succeed(await office.scheduler('sites', 'compose'));
  expect(again.stdout).toBe('No site changed.\n');
  const before = await bundles();
  for (const site of sites) await carryOut(office, site);
  expect(await Promise.all(sites.map(lineAt))).toEqual([7, 80, 1]);
  await commitLayers(17);
  const composed = succeed(await office.scheduler('sites', 'compose', '--reason', 'new line in the north'));
  expect(composed.stdout).toBe(
    'plant-7/press-1  lineNumber: 7 -> 17\n1 site changed; the next medium carries their statements\n',
  );
  for (const site of sites) await carryOut(office, site);
  expect(await Promise.all(sites.map(lineAt))).toEqual([17, 80, 1]);
  expect(await bundles()).toEqual(before);

  // A stick, or a mail, with values alone is enough where the release is.
  succeed(await office.scheduler('sites', 'set', 'plant-9', 'lineNumber=9', '--reason', 'moved'));
  const values = join(folder.path, 'values.tar');
  await office.fill(values, 'plant-9', '--values-only');
  expect((await stat(values)).size).toBeLessThanOrEqual(20 << 10);
  succeed(await (sites[2] as Site).agent('import', values));
  expect(await Promise.all(sites.map(lineAt))).toEqual([17, 80, 9]);
  const log = succeed(await office.scheduler('audit', 'list', '--json'));
  expect(log.stdout).toContain('sites compose');
});
