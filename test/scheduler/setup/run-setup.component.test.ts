import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readForSetup } from '../../../scheduler/setup/configuration-file.ts';
import type { TopicName } from '../../../scheduler/setup/question.ts';
import { runSetup, type SetupPerson } from '../../../scheduler/setup/run-setup.ts';
import { TOPICS } from '../../../scheduler/setup/topics.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const FILE = 'fleet-scheduler.yaml';

type Run = {
  readonly given?: Readonly<Record<string, string>>;
  readonly person?: SetupPerson;
  readonly before?: string;
  /** What the first trial finds wrong with a receiver. */
  readonly wrong?: string;
};

const setUp = async (topic: TopicName, { given = {}, person, before, wrong }: Run) => {
  const folder = await temporaryDirectory('setup');
  if (before !== undefined) await writeFile(join(folder.path, FILE), before);
  const shown: string[] = [];
  const wrongs = wrong === undefined ? [] : [wrong];
  const result = await runSetup({
    file: await readForSetup(FILE, folder.path),
    given: new Map(Object.entries(given)),
    topics: [TOPICS[topic]],
    all: Object.values(TOPICS),
    person,
    examine: async () =>
      wrongs.splice(0).map((message) => ({ name: 'receiver webhook', verdict: 'bad', message })),
    show: (diff) => void shown.push(diff),
  });
  const files = await readdir(folder.path);
  return { result, shown, files: files.toSorted(), text: await readFile(join(folder.path, FILE), 'utf8') };
};

/** A person who gives these answers in order, and types this secret. */
const personWith = (secret: string, ...answers: readonly string[]) => {
  const asked: string[] = [];
  const left = [...answers];
  const ask = async (question: string): Promise<string> => {
    asked.push(question);
    const next = left.shift();
    if (next === undefined) throw new Error(`nothing is left to answer ${question}`);
    return next;
  };
  return { asked, person: { ask, askHidden: async () => secret, say: () => {} } };
};

const PUBLIC = { 'signIn.publicUrl': 'https://hub.example:8443', 'signIn.issuer': 'https://login.example' };

it('asks no secret for a public client, and makes none where no webhooks are wanted', async () => {
  const client = await setUp('sign-in', {
    given: { ...PUBLIC, 'signIn.clientSecretFile': '-', admin: 'fleet-admins' },
  });
  expect(client.files).toEqual([FILE]);
  expect(client.text).not.toContain('clientSecretFile');
  const forge = await setUp('forge', {
    given: { platform: 'https://github.com/acme/platform', webhookSecretFile: '-' },
  });
  expect(forge.result.secrets).toEqual([]);
  expect(forge.files).toEqual([FILE]);
});

it('leaves a client public that is one', async () => {
  const before = `signIn: {publicUrl: 'https://hub.example:8443', issuer: 'https://login.example', clientId: a}
roles: [{role: admin, groups: [a]}]
`;
  const { text, files } = await setUp('sign-in', { before });
  expect(text).toBe(before);
  expect(files).toEqual([FILE]);
});

it('shows no password of an address, neither as the present value nor beside the change', async () => {
  const { asked, person } = personWith('', '', '', '', '', 'hub.example', 'y');
  const { text, shown } = await setUp('hub', { before: 'db: postgres://hub:trout@db.example/hub\n', person });
  expect(text).toContain('postgres://hub:trout@db.example/hub');
  expect([...asked, ...shown].join('\n')).toContain('postgres://db.example/hub');
  expect([...asked, ...shown].join('\n')).not.toContain('trout');
});

it('leaves no secret of an answer that was corrected', async () => {
  const again = ['a', 'https://desk.example/hook', 'right-secret', 'y'];
  const { person } = personWith('', 'https://desk.example/hok', 'wrong-secret', ...again);
  const { files, result } = await setUp('webhook', { person, wrong: 'it answers 404' });
  expect(files).toEqual([FILE, 'right-secret']);
  expect(result.secrets).toEqual([expect.stringMatching(/right-secret$/)]);
});
