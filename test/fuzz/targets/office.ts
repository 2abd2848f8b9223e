import { execFileSync } from 'node:child_process';
import { linkSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { FleetError, isFleetError } from '#bundles/errors';
import { agentFolder, MEDIUM_FILE, parseMedium } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { fingerprint } from '#bundles/trust/keys/key';
import { enrollMedium } from '../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { requestPath } from '../../../scheduler/hub/sites/enroll/read-requests.ts';
import { importReports } from '../../../scheduler/hub/ingest/reports/import-reports.ts';
import { digestsOf, filesOf } from '../../exporter/files-of.ts';
import {
  ask,
  chain,
  enrolled,
  HOSTS,
  happenings,
  hubsAfter,
  NOW,
  report,
  testAgent,
} from '../../scheduler/hub/test-hub.ts';
import { atEnd } from '../../harness/run/at-end.ts';
import { runs } from '../../harness/run/long.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { mutateJson } from '../mutate-json.ts';
import { mutateStick, type Stick, type StickEntry } from '../mutate-stick.ts';
import { randomOf } from '../random.ts';
import { insist, type Target } from '../target.ts';

const [KNOWN, WANTED, THIRD] = ['plant-7/press-1', 'plant-7/press-2', 'plant-7/press-3'];
const REPORT = `fleet/reports/${agentFolder(KNOWN)}/000000000004-000000000006`;
const CANARY = 'canary:$6$canary:20000:0:99999:7:::';

/** What lies on the good stick. Blobs are called by what they are: their digests are others for each office. */
const FILES = [
  'oci-layout',
  'index.json',
  MEDIUM_FILE,
  'blobs/sha256/receipt',
  'blobs/sha256/root',
  'blobs/sha256/site',
  'blobs/sha256/site-values',
  `fleet/receipts/${agentFolder(KNOWN)}.sigstore.json`,
  `${REPORT}.ndjson`,
  `${REPORT}.sigstore.json`,
  requestPath(KNOWN),
  requestPath(WANTED),
];
const PATHS = [
  ...new Set([...FILES, ...FILES.map((path) => dirname(path)), 'fleet/parts', 'fleet/parts.json', 'blobs']),
].filter((path) => path !== '.');
const PLACES = ['layout', 'layout/blobs', 'layout/index.json', 'outside', 'outside/secret', '/dev/zero'];
const VERBS = ['reports', 'enroll', 'enroll any', 'replace', 'replace any', 'update'];

/**
 * An office that has a release, knows two agents and gets a stick with a report of one, a request of a new one, and one of a
 * stranger for the name of a known one.
 */
const prepare = hubsAfter(async (hub) => {
  const agent = await enrolled(hub, KNOWN);
  const [wanted, stranger, third] = [testAgent(WANTED), testAgent(KNOWN), testAgent(THIRD)];
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'x' } } }],
  });
  const stick = await hub.stick('good');
  const lines = chain(agent, happenings(6));
  await ask(stick, third);
  await hub.enroll(stick);
  await report(stick, agent, lines, 1, 3);
  await hub.importFrom(stick);
  rmSync(join(stick, 'fleet/reports'), { recursive: true });
  await report(stick, agent, lines, 4, 6);
  await ask(stick, wanted);
  await ask(stick, stranger);
  const files = new Map(filesOf(stick));
  const { documents } = parseMedium(files.get(MEDIUM_FILE) ?? Buffer.alloc(0));
  const paths = new Map(documents.map(({ role, digest }) => [`blobs/sha256/${role}`, blobPath(digest)]));
  rmSync(stick, { recursive: true });
  mkdirSync(join(hub.path, 'outside'));
  writeFileSync(join(hub.path, 'outside/secret'), CANARY);
  const enrolledKeys = [agent, third].map(({ key }) => key.public.pem);
  return { lines, enrolledKeys, wanted, files, paths };
});

type Office = Awaited<ReturnType<typeof prepare>>;

let made: { readonly pipe: string; readonly socket: string } | undefined;
/** Made once in each process, and linked to from then on. @param place on the file system of the sticks */
const strangeFiles = (place: string) => {
  if (made) return made;
  const folder = mkdtempSync(join(place, 'fuzz-office-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const [pipe, socket] = [join(folder, 'pipe'), join(folder, 'socket')];
  execFileSync('mkfifo', [pipe]);
  createServer().listen(socket).unref();
  made = { pipe, socket };
  return made;
};

const bytesOf = ({ from, edit }: StickEntry, { files, paths }: Office): Buffer => {
  const good = files.get(paths.get(from) ?? from) ?? Buffer.from(from);
  if (edit === 0) return good;
  const random = randomOf(edit);
  return (random.chance(50) ? mutateJson : mutateBytes)(random, good, [good]);
};

/** What no stick can have is left out: a name below something that is not a folder, a second thing of one name. */
const put = (stick: string, entry: StickEntry, office: Office): void => {
  const name = office.paths.get(entry.path) ?? entry.path;
  const folders = name.split('/').slice(0, -1);
  for (const at of folders.keys()) {
    const found = lstatSync(join(stick, ...folders.slice(0, at + 1)), { throwIfNoEntry: false });
    if (found && !found.isDirectory()) return;
  }
  const path = join(stick, name);
  mkdirSync(dirname(path), { recursive: true });
  if (lstatSync(path, { throwIfNoEntry: false })) return;
  const strange = strangeFiles(dirname(office.path));
  switch (entry.kind) {
    case 'file':
      return writeFileSync(path, bytesOf(entry, office));
    case 'folder':
      mkdirSync(path);
      return;
    case 'link':
      return symlinkSync(entry.from.startsWith('/') ? entry.from : join(office.path, entry.from), path);
    case 'pipe':
      return linkSync(strange.pipe, path);
    case 'socket':
      return linkSync(strange.socket, path);
  }
};

/** @returns all that the person reads */
const perform = async (verb: string, stick: string, office: Office): Promise<string> => {
  try {
    await using medium = await openFiles(stick);
    if (verb === 'reports') return JSON.stringify(await importReports(office, medium, NOW));
    const result = await enrollMedium(
      office,
      medium,
      {
        accept: verb.endsWith('any') ? [] : [{ fingerprint: fingerprint(office.wanted.key.public) }],
        replaceKey: verb.startsWith('replace'),
        update: verb === 'update',
      },
      NOW,
    );
    return result.refused.map(({ error }) => error.message).join('\n');
  } catch (error) {
    if (!isFleetError(error)) throw error;
    insist(!error.message.includes('canary'), 'a message quotes a file of the office');
    // The same answer wherever the office is.
    throw new FleetError(error.code, error.message.replaceAll(office.path, ''), { cause: error });
  }
};

/** Nothing but what was named and signed came in, and nothing of the office was changed or lost. */
const judge = async (office: Office, before: ReadonlyMap<string, string>, said: string): Promise<void> => {
  insist(!said.includes('canary'), 'a message quotes a file of the office');
  const { db } = office.store;
  const keys = await db.selectFrom('agent_key').selectAll().where('ended_at', 'is', null).execute();
  const known = [...office.enrolledKeys, office.wanted.key.public.pem];
  insist(keys.length >= 2 && keys.every(({ key }) => known.includes(key)), 'a key came in that nobody named');
  const events = await db.selectFrom('event').selectAll().execute();
  insist([3, 6].includes(events.length), `there are ${events.length} events`);
  const after = digestsOf(office.path);
  for (const [path, digest] of before) insist(after.get(path) === digest, `${path} was changed or removed`);
  const added = [...after.keys()].find((path) => /^(outside|keys)\//.test(path) && !before.has(path));
  insist(added === undefined, `${added} was written`);
};

const isKept = (path: string): boolean =>
  /^(outside|keys)\//.test(path) || path.startsWith('layout/blobs/sha256/');

const run = async (input: Buffer): Promise<void> => {
  const { verb, entries } = JSON.parse(input.toString()) as Stick;
  await using office = await prepare();
  const stick = await office.stick();
  for (const entry of entries) put(stick, entry, office);
  const before = new Map([...digestsOf(office.path)].filter(([path]) => isKept(path)));
  let said = '';
  try {
    said = await perform(verb, stick, office);
  } finally {
    await judge(office, before, said);
  }
};

const entries = FILES.map((path): StickEntry => ({ path, kind: 'file', from: path, edit: 0 }));

/** The verbs of the office on a folder that somebody else prepared. */
export const OFFICE: readonly Target[] = [
  {
    name: 'office-medium',
    corpus: VERBS.map((verb) => Buffer.from(JSON.stringify({ verb, entries }))),
    mutate: mutateStick(VERBS, PATHS, FILES, PLACES),
    unitCases: runs(10, 3),
    run,
  },
];
