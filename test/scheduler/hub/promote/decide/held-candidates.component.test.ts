import { expect, test } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { assess } from '../../../../../scheduler/hub/promote/gate/assess.ts';
import { linkTo } from '../../../../../scheduler/hub/promote/facts/link.ts';
import { describeVerdict } from '../../../../../scheduler/hub/promote/gate/describe-verdict.ts';
import { readFacts } from '../../../../../scheduler/hub/promote/facts/read-facts.ts';
import { promoteTo } from '../../../../../scheduler/hub/promote/decide/promote-to.ts';
import { NOW, registration, target, workload } from '../../../release/removals/office.ts';
import { ours } from '../../../fleet-platform.ts';
import { writeFiles } from '../../../file-tree.ts';
import { chainedOffice, type ChainedOffice } from './chained-office.ts';

const { signal } = new AbortController();
const SCHEMA = 'platform/environments/qa/schema.yaml';
const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

/** The configuration of qa lacks a value that its schema requires, and the application has changed since the last release. */
const breakQa = async (office: ChainedOffice): Promise<void> => {
  await writeFiles(office.folder, {
    [SCHEMA]: ours('ConfigSchema', 'labels', 'spec:\n  schema: {type: object, required: [printer]}\n'),
  });
  await office.edit('apps/labels/host/package.yaml', (text) =>
    text.replace('/opt/labels', '/opt/labels/two'),
  );
};

/** Builds the cluster type press of qa. @returns its outcome and number, and the names of what it holds */
const build = async (office: ChainedOffice, now: Date) => {
  const { channels } = await office.build({ environments: ['qa'], now, previous: office.layout });
  const press = channels.find(({ clusterType }) => clusterType === 'press');
  return [press?.outcome, press?.version, ...(press?.held.map(({ assignment }) => assignment) ?? [])];
};

const facts = async (office: ChainedOffice, now: Date) => {
  const { hub, promotion } = await office.openChain();
  const link = linkTo(promotion, 'prod');
  const { candidate, verdict } = await assess(hub, link, { now, signal, asks: null });
  const { channels } = await readFacts(hub, link, candidate.shared, { now, signal });
  return {
    lines: shown(describeVerdict(verdict, candidate.candidate)),
    state: verdict.state,
    since: channels.map(({ since }) => since?.version),
  };
};

const wish = { environment: 'prod', candidate: undefined, person: 'ann', reason: null, signal };

test('a candidate with assignments held in the earlier environment is not promoted, and the gate names them', async () => {
  const office = await chainedOffice();
  await breakQa(office);
  expect(await build(office, after(1))).toEqual(['unchanged', 1, 'labels-host']);
  const { state, lines } = await facts(office, after(2));
  expect(state).toBe('waiting');
  expect(lines.slice(1)).toEqual([
    '  released  1 of 1  (wanted: every channel of qa is at a release of this candidate)',
    '! held      1  (wanted: none: what is held in qa was never tried there)',
    '    qa/press: labels-host: CONFIG_SCHEMA: printer is missing (schema labels)',
    'It can open after: a release.',
  ]);
  await expect(promoteTo(await office.openChain(), { ...wish, now: after(2) })).rejects.toMatchObject({
    code: 'GATE_CLOSED',
  });
});

test('soak starts with the first release without held assignments', async () => {
  const office = await chainedOffice();
  await breakQa(office);
  await build(office, after(1));
  await office.edit(SCHEMA, undefined);
  expect(await build(office, after(2))).toEqual(['released', 2]);
  expect(await facts(office, after(3))).toMatchObject({ state: 'ready', since: [2] });
  expect(await promoteTo(await office.openChain(), { ...wish, now: after(3) })).toMatchObject({
    outcome: 'promoted',
  });
});

test('a candidate with an application that could not be read is not promoted', async () => {
  const office = await chainedOffice();
  await writeFiles(office.folder, { 'platform/base/new.yaml': registration('new') });
  expect(await build(office, after(1))).toEqual(['unchanged', 1]);
  const { state, lines } = await facts(office, after(2));
  expect(state).toBe('waiting');
  expect(lines).toContainEqual(expect.stringMatching(/^ {4}qa\/press: new: SOURCE_MISSING: /));
  await writeFiles(office.folder, {
    'apps/new/deploy/workload.yaml': workload('new', target('host', 'prod', 'host')),
  });
  // Its content was there since release 1, which held nothing: only what was said about it changed.
  expect(await build(office, after(3))).toEqual(['unchanged', 1]);
  expect(await facts(office, after(4))).toMatchObject({ state: 'ready', since: [1] });
});
