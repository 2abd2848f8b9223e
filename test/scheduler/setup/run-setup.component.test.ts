import { chmod, chown, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
  /** Changes the folder before setup reads it. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** What the first trial finds wrong. */
  readonly wrong?: string;
  /** The part that it is wrong with. */
  readonly part?: string;
};

const setUp = async (
  topic: TopicName,
  { given = {}, person, before, prepare, wrong, part = 'receiver webhook' }: Run,
) => {
  const folder = await temporaryDirectory('setup');
  if (before !== undefined) await writeFile(join(folder.path, FILE), before);
  await prepare?.(folder.path);
  const shown: string[] = [];
  const wrongs = wrong === undefined ? [] : [wrong];
  const result = await runSetup({
    file: await readForSetup(FILE, folder.path),
    given: new Map(Object.entries(given)),
    topics: [TOPICS[topic]],
    all: Object.values(TOPICS),
    person,
    examine: async () => wrongs.splice(0).map((message) => ({ name: part, verdict: 'bad', message })),
    show: (diff) => void shown.push(diff),
  });
  const files = await readdir(folder.path);
  const rightsOf = (file: string) => stat(join(folder.path, file));
  return {
    result,
    shown,
    rightsOf,
    files: files.toSorted(),
    text: await readFile(join(folder.path, FILE), 'utf8'),
  };
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

const TWO = `alarms:
  receivers:
    - name: desk
      email: {server: 'smtps://mail.example', from: fleet@mail.example, to: [desk@mail.example]}
    - name: night
      email: {server: 'smtps://mail.example', from: fleet@mail.example, to: [night@mail.example]}
`;

it('changes the receiver that is named, and adds one of a new name with a file of its own', async () => {
  const second = personWith('', 'night', '', '', 'guard@mail.example', '', 'y');
  const { text } = await setUp('mail', { before: TWO, person: second.person });
  expect(second.asked[0]).toBe('Receiver: desk, night, or a new name [desk]: ');
  expect(text).toMatch(/name: desk[^]*desk@mail\.example[^]*name: night[^]*guard@mail\.example/);
  expect(text).not.toContain('night@mail');

  const added = await setUp('mail', {
    before: TWO,
    given: {
      'mail.name': 'weekend',
      'mail.server': 'smtps://mail.example',
      'mail.from': 'fleet@mail.example',
      'mail.to': 'weekend@mail.example',
      'mail.userName': 'fleet',
    },
    person: personWith('swordfish', '', 'y').person,
  });
  expect(added.text).toMatch(/name: desk[^]*name: night[^]*name: weekend[^]*weekend@mail\.example/);
  expect(added.files).toContain('weekend-password');
});

it.each([
  ['desk', 'the receiver desk is of another kind'],
  ['no name', 'name'],
])('refuses a receiver %j of the webhook', async (name, message) => {
  const answers = { 'webhook.name': name, 'webhook.url': 'https://desk.example' };
  await expect(setUp('webhook', { before: TWO, given: answers })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining(message),
  });
});

it('asks for an admin that was mistyped again, in the same run and in the next one', async () => {
  const before = `signIn: {publicUrl: 'https://hub.example:8443', issuer: 'https://login.example', clientId: a}
`;
  const admin = [...Array.from({ length: 4 }, () => ''), 'maar@example.com'];
  const again = [...Array.from({ length: 4 }, () => ''), 'mara@example.com'];
  const first = personWith('', ...admin, 'a', ...again, 'y');
  const { text } = await setUp('sign-in', { before, person: first.person, wrong: 'no', part: 'roles' });
  expect(first.asked).toContain('Admin: addresses, or a group of the provider [maar@example.com]: ');
  expect(text).toContain('mara@example.com');
  expect(text).not.toContain('maar@example.com');

  const next = personWith('', ...Array.from({ length: 4 }, () => ''), 'fleet-admins', 'y');
  const later = await setUp('sign-in', { before: text, person: next.person });
  expect(later.text).toContain('fleet-admins');
  expect(later.text).not.toContain('mara@example.com');
});

it('removes the drafts of runs that were killed, and no other file', async () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const killed = `.${FILE}.${id}.new`;
  // By a clock that was ahead.
  const ahead = `.${FILE}.${id.replace('0', '2')}.new`;
  const others = [`.${FILE}.${id.replace('0', '1')}.new`, `.${FILE}.new`, `.other.yaml.${id}.new`];
  const { files } = await setUp('hub', {
    given: { hostnames: 'hub.example' },
    prepare: async (folder) => {
      for (const name of [killed, ahead, ...others]) await writeFile(join(folder, name), 'db: hub.db\n');
      for (const name of [killed, ...others.slice(1)]) await utimes(join(folder, name), 1, 1);
      await utimes(join(folder, ahead), 4_102_444_800, 4_102_444_800);
    },
  });
  expect(files).toEqual([...others, FILE].toSorted());
});

describe.runIf(process.geteuid?.() === 0)('run by root', () => {
  const hook = { 'webhook.url': 'https://desk.example' };

  it('gives a secret to the group of the configuration, where that may read it', async () => {
    const { rightsOf, result } = await setUp('webhook', {
      given: hook,
      before: 'db: hub.db\n',
      prepare: async (folder) => {
        await chown(join(folder, FILE), 0, 4321);
        await chmod(join(folder, FILE), 0o640);
      },
    });
    const rights = await rightsOf('alarm-webhook-secret');
    expect(rights).toMatchObject({ uid: 0, gid: 4321 });
    expect(rights.mode & 0o777).toBe(0o640);
    expect(result.next.join()).not.toContain('chown');
  });

  it('names the files that the user of the hub cannot read', async () => {
    const { result } = await setUp('webhook', { given: hook });
    expect(result.next[0]).toMatch(
      /^Only root reads what was written: chown USER \S+alarm-webhook-secret \S+fleet-scheduler\.yaml, with/,
    );
  });
});
