import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestFromHex } from '#bundles/digest';
import { agentFolder, MEDIUM_FILE, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { requestPath } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { verdict } from '../../../../bundles/verdict.ts';
import { filesOf } from '../../../../exporter/files-of.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';
import {
  ask,
  chain,
  enrolledHub,
  HOSTS,
  happenings,
  report,
  type TestAgent,
  type TestHub,
  testAgent,
} from '../../test-hub.ts';

/** A program makes one pipe, of which each test gets a link. */
const pipes = await temporaryDirectory('pipe');
execFileSync('mkfifo', [join(pipes.path, 'pipe')]);
afterAll(() => pipes[Symbol.asyncDispose]());

/** Everything below a folder, with its bytes. */
const contentOf = (path: string): readonly (readonly [string, string])[] =>
  [...filesOf(path)].map(([file, bytes]) => [file, bytes.toString('base64')] as const);

/** A stick with a report of a known agent and a request of another, and the office's layout with a release. */
const foundStick = async (hub: TestHub & { readonly agent: TestAgent }) => {
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'x' } } }],
  });
  const stick = await hub.stick('found');
  await report(stick, hub.agent, chain(hub.agent, happenings(3)));
  await ask(stick, testAgent('plant-7/press-9'));
  return { stick, layout: contentOf(hub.layout) };
};

const blobsOf = async (folder: string): Promise<readonly Digest[]> =>
  (await readdir(join(folder, 'blobs/sha256'))).toSorted(compareBytes).map((hex) => digestFromHex(hex));

/** A table of contents that calls all of these receipts of the agent, so that a newer one supersedes them. */
const listAsReceipts = async (stick: string, agent: string, digests: readonly Digest[]): Promise<void> => {
  const receipt = { role: 'receipt', mediaType: 'text/plain', site: 'plant-7', agent, size: 1 };
  const table = {
    format: 1,
    fleet: 'acme',
    createdAt: '2026-11-21T08:00:00Z',
    documents: digests.map((digest) => ({ ...receipt, digest })),
    bundles: [],
    chunks: [],
    critical: [],
  };
  await writeFile(join(stick, MEDIUM_FILE), canonicalBytes(table));
};

const FOLDERS = ['blobs', 'blobs/sha256', 'fleet', 'fleet/receipts', 'fleet/reports', REQUESTS_FOLDER];
const FILES = ['index.json', 'oci-layout', MEDIUM_FILE];
const PLACES = [...FOLDERS, ...FILES];

describe('an untrusted medium at the office', () => {
  it('O1: whose blobs are a link to the releases, all listed as superseded -> MEDIUM_INVALID', async () => {
    await using hub = await enrolledHub();
    const { stick, layout } = await foundStick(hub);
    await listAsReceipts(stick, hub.agent.id, await blobsOf(hub.layout));
    await symlink(join(hub.layout, 'blobs'), join(stick, 'blobs'));
    expect(await verdict(() => hub.importFrom(stick))).toBe('MEDIUM_INVALID');
    expect(await verdict(() => hub.enroll(stick))).toBe('MEDIUM_INVALID');
    expect(contentOf(hub.layout)).toEqual(layout);
  });

  it('O2: keeps its blobs that it calls superseded receipts and that are something else', async () => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const digests = await blobsOf(hub.layout);
    await mkdir(join(stick, 'blobs/sha256'), { recursive: true });
    for (const [file, bytes] of filesOf(join(hub.layout, 'blobs')))
      await writeFile(join(stick, 'blobs', file), bytes);
    await listAsReceipts(stick, hub.agent.id, digests);
    expect(await verdict(() => hub.importFrom(stick))).toBe('ACCEPT');
    expect(await blobsOf(stick)).toEqual(expect.arrayContaining([...digests]));
  });

  it.each(PLACES)('O3: with a link at %s is neither read nor written -> MEDIUM_INVALID', async (place) => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const [elsewhere, at] = [join(hub.path, 'elsewhere'), join(stick, place)];
    await mkdir(dirname(at), { recursive: true });
    const isThere = await rename(at, join(hub.path, 'target')).then(
      () => true,
      () => false,
    );
    await mkdir(elsewhere);
    if (isThere) await rename(join(hub.path, 'target'), join(elsewhere, 'target'));
    else if (FILES.includes(place)) await writeFile(join(elsewhere, 'target'), 'x');
    else await mkdir(join(elsewhere, 'target'));
    await symlink(join(elsewhere, 'target'), at);
    const before = contentOf(elsewhere);
    expect(await verdict(() => hub.importFrom(stick))).toBe('MEDIUM_INVALID');
    expect(await verdict(() => hub.enroll(stick))).toBe('MEDIUM_INVALID');
    expect(contentOf(elsewhere)).toEqual(before);
    expect(await hub.store.db.selectFrom('event').selectAll().execute()).toEqual([]);
  });

  it.each(PLACES)('O7: with a pipe at %s is not waited for -> MEDIUM_INVALID', async (place) => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const at = join(stick, place);
    await rm(at, { recursive: true, force: true });
    await mkdir(dirname(at), { recursive: true });
    await link(join(pipes.path, 'pipe'), at);
    expect(await verdict(() => hub.importFrom(stick))).toBe('MEDIUM_INVALID');
    expect(await verdict(() => hub.enroll(stick))).toBe('MEDIUM_INVALID');
  });

  it('O8: is not read where its request or report is a link to a file of the office -> MEDIUM_EMPTY', async () => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const secret = join(hub.path, 'keys', 'release.key');
    const request = join(stick, requestPath('plant-7/press-9'));
    await rm(request);
    await symlink(secret, request);
    expect(await verdict(() => hub.enroll(stick))).toBe('MEDIUM_EMPTY');
    const folder = join(stick, 'fleet/reports', agentFolder(hub.agent.id));
    for (const name of await readdir(folder)) {
      await rm(join(folder, name));
      await symlink(secret, join(folder, name));
    }
    expect(await verdict(() => hub.importFrom(stick))).toBe('MEDIUM_EMPTY');
  });

  it('O18: says so where the folder of an agent or a request is a link, and takes all others -> MEDIUM_INVALID', async () => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const other = testAgent('plant-7/press-8');
    await ask(stick, other);
    const hidden = join(stick, 'fleet/reports', agentFolder(other.id));
    await symlink(join(hub.path, 'keys'), hidden);
    await symlink(join(hub.path, 'keys', 'release.key'), join(stick, requestPath('plant-7/press-7')));
    const { refused, agents } = await hub.importFrom(stick);
    expect(refused.map(({ error }) => error)).toMatchObject([
      { code: 'MEDIUM_INVALID', message: expect.stringContaining(agentFolder(other.id)) as string },
    ]);
    expect(refused.map(({ error }) => error.code)).toEqual(['MEDIUM_INVALID']);
    expect(agents.map(({ agent }) => agent)).toEqual([hub.agent.id]);
    const enrolled = await hub.enroll(stick);
    expect(enrolled.refused.map(({ error }) => error.code)).toEqual(['MEDIUM_INVALID']);
    expect(enrolled.sites.flatMap(({ enrolments }) => enrolments.map(({ request }) => request.id))).toContain(
      other.id,
    );
  });

  it('has no receipt written through a symbolic link', async () => {
    await using hub = await enrolledHub();
    const { stick } = await foundStick(hub);
    const outside = join(hub.path, 'outside');
    await writeFile(outside, 'untouched');
    await mkdir(join(stick, 'fleet/receipts'));
    await symlink(outside, join(stick, 'fleet/receipts', `${agentFolder(hub.agent.id)}.sigstore.json`));
    expect(await verdict(() => hub.importFrom(stick))).toBe('MEDIUM_INVALID');
    expect(await readFile(outside, 'utf8')).toBe('untouched');
  });
});
