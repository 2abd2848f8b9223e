import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Office, openOffice } from '../../e2e/office.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { carryHome, carryOut, enroll, type Site, startSite, withoutUnits } from './folder-site.ts';

let folder: TemporaryDirectory;
let office: Office;
let site: Site;

beforeAll(async () => {
  folder = await temporaryDirectory('local-values');
  office = await openOffice(folder.path);
  await withoutUnits(office);
  await office.build();
  site = await startSite(office, 'plant-7');
  await enroll(office, site, 'prod/factory-host');
  await carryOut(office, site);
  await carryHome(office, site);
});
afterAll(() => folder[Symbol.asyncDispose]());

type Shown = {
  readonly name: string;
  readonly value?: unknown;
  readonly origin: string | null;
  readonly takenBy: readonly { readonly assignment: string; readonly waits: string | null }[];
  readonly local: { readonly state: string } | null;
};

const shown = async (name = 'lineNumber'): Promise<Shown | undefined> => {
  const { stdout } = await site.agent('values', '--json');
  return (JSON.parse(stdout) as { readonly values: readonly Shown[] }).values.find(
    (one) => one.name === name,
  );
};

const set = (value: string, ...words: readonly string[]) =>
  site.agent(
    'values',
    'set',
    `lineNumber=${value}`,
    '--reason',
    'line 7 is being rebuilt',
    '--person',
    'anna',
    ...words,
  );

const onHost = async (): Promise<string> => readFile(join(site.host, 'etc/scale-reader/scale.json'), 'utf8');

const policy = async (localEdits: string): Promise<void> => {
  const file = join(office.folder, 'fleet-scheduler.yaml');
  const text = (await readFile(file, 'utf8')).replace(/^siteValues:[^]*$/m, '');
  await writeFile(file, `${text.trimEnd()}\nsiteValues:\n  localEdits: ${localEdits}\n`);
};

describe('a value that a person changes at a site without a network', () => {
  test('is applied at once, carried home, accepted at the office, and no longer local after the next medium', async () => {
    expect(await shown()).toMatchObject({ value: 7, origin: 'site', local: null });
    const dry = succeed(await set('8', '--dry-run'));
    expect(dry.stdout).toContain('7 -> 8  (dry run, nothing was changed)');
    const done = succeed(await set('8'));
    expect(done.stdout).toContain('lineNumber  7 -> 8');
    expect(await shown()).toMatchObject({ value: 8, origin: 'local', local: { state: 'in force' } });
    expect((await shown())?.takenBy.every(({ waits }) => waits === null)).toBe(true);
    expect(succeed(await site.agent('status')).stdout).toContain('Local    lineNumber = 8, by anna at ');
    expect(succeed(await site.agent('history')).stdout).toContain('lineNumber 7 -> 8, by anna');
    // At home it waits for a person, by name.
    succeed(await site.agent('reports', 'export', site.medium));
    const home = succeed(await office.scheduler('reports', 'import', site.medium));
    expect(home.stdout).toContain('plant-7/press-1  local value lineNumber: 7 -> 8, by anna');
    const listed = succeed(await office.scheduler('sites', 'values', 'local', '--json'));
    const [edit] = (JSON.parse(listed.stdout) as { readonly edits: readonly { readonly edit: string }[] })
      .edits;
    expect(succeed(await office.scheduler('sites', 'list')).stdout).toContain('local lineNumber=8 by anna');
    expect(succeed(await office.scheduler('explain', '--site', 'plant-7')).stdout).toContain(
      'lineNumber = 8  from local, by anna at plant-7/press-1',
    );
    const id = edit?.edit.slice('sha256:'.length, 'sha256:'.length + 12) ?? '';
    const accepted = succeed(
      await office.scheduler('sites', 'values', 'accept', id, '--person', 'otto', '--reason', 'agreed'),
    );
    expect(accepted.stdout).toContain('lineNumber = 8 of plant-7/press-1 is accepted');
    expect(succeed(await office.scheduler('sites', 'values', 'list', 'plant-7')).stdout).toContain('otto');
    await carryOut(office, site);
    expect(await shown()).toMatchObject({ value: 8, origin: 'site', local: null });
    await carryHome(office, site);
    const all = succeed(await office.scheduler('sites', 'values', 'local', '--all'));
    expect(all.stdout).toContain('the agent has the answer');
  });

  test('is taken back by the next medium where the office refuses by its setting', async () => {
    await policy('refuse');
    succeed(await set('9'));
    expect(await onHost()).toMatch(/[Ll]ine[A-Za-z]*"?: 9\b/);
    succeed(await site.agent('reports', 'export', site.medium));
    const home = succeed(await office.scheduler('reports', 'import', site.medium));
    expect(home.stdout).toContain('refused by a rule; the next medium carries the answer');
    expect(await shown()).toMatchObject({ value: 9, origin: 'local' });
    await carryOut(office, site);
    expect(await shown()).toMatchObject({ value: 8, origin: 'site', local: null });
    // The medium of an older visit changes nothing: its report is known.
    succeed(await office.scheduler('reports', 'import', site.medium));
    expect(succeed(await office.scheduler('sites', 'values', 'local')).stdout).toContain('No value');
  });

  test('is accepted by the setting, without a person', async () => {
    await policy('accept');
    succeed(await set('10'));
    succeed(await site.agent('reports', 'export', site.medium));
    const home = succeed(await office.scheduler('reports', 'import', site.medium));
    expect(home.stdout).toContain('accepted by a rule');
    await carryOut(office, site);
    expect(await shown()).toMatchObject({ value: 10, origin: 'site', local: null });
  });
});

test('a value that does not fit or is not granted is refused in one line with its code', async () => {
  const before = (await site.agent('history', '--json')).stdout;
  const { code, stderr } = await set('"x"');
  expect(code).toBe(4);
  expect(stderr).toMatch(/^fleet-agent: SITE_VALUES: the value lineNumber does not fit: .*\n$/);
  const other = await site.agent('values', 'set', 'gatway=x', '--reason', 'r');
  expect(other.code).toBe(4);
  expect(other.stderr).toMatch(/^fleet-agent: VALUE_NOT_GRANTED: .*\n$/);
  expect((await site.agent('history', '--json')).stdout).toBe(before);
});
