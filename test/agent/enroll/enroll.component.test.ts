import { chmod, copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { agentFolder } from '#bundles/formats/medium/medium';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { fingerprint, generatePrivateKey } from '#bundles/trust/keys/key';
import { isProof, isSignedRequest } from '#bundles/trust/root/sign-request';
import { hashToken, tokenId, tokenKey } from '#bundles/trust/root/token-key';
import { parseDocument } from '#bundles/json/validate';
import { keyFile, loadKey, loadKeyText } from '../../../agent/hub/agent-key.ts';
import { certificateFile, findCertificate } from '../../../agent/hub/certificate.ts';
import { enroll } from '../../../agent/enroll/enroll.ts';
import type { IdentityRequest } from '../../../agent/enroll/take-identity.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { findIdentity, readIdentity, saveRequest } from '../../../agent/store/identity.ts';
import type { Request } from '../../../agent/model/request.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { NOW, openFast, testEdge } from '../world.ts';

const WISH: IdentityRequest = {
  fleet: 'halden',
  site: 'plant-7',
  agent: 'kiosk-1',
  channel: { environment: 'prod', clusterType: 'factory-host' },
  labels: { ring: 'canary' },
  pinnedRoot: digestOf('root'),
};
const REQUEST = `fleet/requests/${agentFolder('plant-7/kiosk-1')}.json`;

const place = async () => {
  const directory = await temporaryDirectory('enroll');
  const medium = join(directory.path, 'stick');
  await mkdir(medium);
  const state = openFast(join(directory.path, 'state'), { create: true });
  return {
    medium,
    state,
    ask: (wish: Partial<IdentityRequest> = {}, now = NOW) =>
      enroll(state, testEdge(now), { ...WISH, ...wish }, medium),
    [Symbol.asyncDispose]: async () => {
      state[Symbol.dispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
};

const owner = ({ state }: Awaited<ReturnType<typeof place>>) => ({ state, identity: readIdentity(state) });

describe('an enrolment', () => {
  it('creates a key that only its owner can read, and a request signed with it', async () => {
    await using it = await place();
    const { fingerprint: shown, request, fresh } = await it.ask();
    expect({ request, fresh }).toEqual({ request: REQUEST, fresh: true });
    expect((await stat(keyFile(it.state.directory))).mode & 0o777).toBe(0o600);
    const text = JSON.parse(await readFile(join(it.medium, request), 'utf8'));
    const parsed = parseDocument('request', text, 'the request');
    expect(parsed).toMatchObject({ fleet: 'halden', labels: { ring: 'canary' }, at: '2026-11-21T08:00:00Z' });
    const csr = parseCertificateRequest(parsed.request);
    expect(csr).toMatchObject({ fleet: 'halden', site: 'plant-7', agent: 'kiosk-1' });
    expect(fingerprint(csr.key)).toBe(shown);
    expect(readOutbox(it.state).map(({ line }) => JSON.parse(line).type)).toEqual(['enrolled']);
  });

  it('repeated with the same arguments writes the same request with the same key', async () => {
    await using it = await place();
    const first = await it.ask();
    const bytes = await readFile(join(it.medium, REQUEST));
    await rm(join(it.medium, REQUEST));
    const again = await it.ask({}, new Date('2027-01-01T00:00:00Z'));
    expect(again).toEqual({ ...first, fresh: false });
    expect(await readFile(join(it.medium, REQUEST))).toEqual(bytes);
    expect(readOutbox(it.state)).toHaveLength(1);
  });

  it.each([
    [{ site: 'plant-8' }, '--site'],
    [{ labels: {} }, '--label'],
    [{ pinnedRoot: digestOf('another') }, '--root-sha256'],
    [{ channel: { environment: 'dev', clusterType: 'factory-host' } }, '--channel'],
    [{ site: 'plant-8', pinnedRoot: digestOf('another') }, '--site, --root-sha256'],
  ] as const)('repeated with other arguments is refused with their names: %o', async (other, flags) => {
    await using it = await place();
    await it.ask();
    await expect(it.ask(other)).rejects.toMatchObject({
      code: 'ALREADY_ENROLLED',
      message: expect.stringMatching(new RegExp(`enrolled with another ${flags}$`)),
    });
  });

  it('O9: with a one-time token signs every field and proves the token, which neither the request nor the state contains', async () => {
    await using it = await place();
    const token = `ffe_${'a'.repeat(32)}`;
    await it.ask({ token, facts: { serial: 'PX-1' } });
    const bytes = await readFile(join(it.medium, REQUEST), 'utf8');
    expect(bytes).not.toContain(token);
    expect(findIdentity(it.state)?.request).not.toContain(token);
    const { public: key } = await loadKey(owner(it));
    const request = JSON.parse(bytes) as Request;
    expect(isSignedRequest(request, request.signature ?? '', key)).toBe(true);
    const { proof } = request;
    expect(isProof(request, proof?.signature ?? '', tokenKey(token).public)).toBe(true);
    expect(proof?.token).toBe(tokenId(hashToken(token)));
    // Every field is bound, by both.
    const fields = Object.entries(request).filter(([name]) => name !== 'proof' && name !== 'signature');
    expect(fields.length).toBeGreaterThanOrEqual(11);
    for (const [name] of fields) {
      const changed = { ...request, [name]: 'changed' };
      expect(isSignedRequest(changed, request.signature ?? '', key), name).toBe(false);
      expect(isProof(changed, proof?.signature ?? '', tokenKey(token).public), name).toBe(false);
    }
    expect(
      isSignedRequest(
        { ...request, proof: { ...proof, token: '0'.repeat(12) } },
        request.signature ?? '',
        key,
      ),
    ).toBe(false);
    await it.ask({ token, facts: { serial: 'PX-1' } });
    expect(await readFile(join(it.medium, REQUEST), 'utf8')).toBe(bytes);
  });

  it('O13: repeated after an update replaces a request that contains its token in clear text', async () => {
    await using it = await place();
    const token = `ffe_${'a'.repeat(32)}`;
    const { fingerprint: shown } = await it.ask();
    const { signature: _, ...old } = JSON.parse(findIdentity(it.state)?.request ?? '') as Request;
    saveRequest(it.state, JSON.stringify({ ...old, token }));
    expect((await it.ask({ token })).fingerprint).toBe(shown);
    const written = await readFile(join(it.medium, REQUEST), 'utf8');
    expect(written).not.toContain(token);
    expect((JSON.parse(written) as Request).proof).toBeDefined();
    // Another file of hosts has another token.
    const other = `ffe_${'b'.repeat(32)}`;
    await it.ask({ token: other });
    const { proof } = JSON.parse(await readFile(join(it.medium, REQUEST), 'utf8')) as Request;
    expect(proof?.token).toBe(tokenId(hashToken(other)));
  });

  it('in a state that was lost creates a new key, because events of two histories under one key contradict each other', async () => {
    await using it = await place();
    const { fingerprint: shown } = await it.ask();
    await writeFile(certificateFile(it.state.directory), 'of the lost state');
    it.state.db.exec('DELETE FROM identity; DELETE FROM trust; DELETE FROM chain; DELETE FROM outbox');
    const again = await it.ask();
    expect(again.fresh).toBe(true);
    expect(again.fingerprint).not.toBe(shown);
    expect(fingerprint((await loadKey(owner(it))).public)).toBe(again.fingerprint);
    expect(await findCertificate(it.state.directory)).toBeUndefined();
  });

  it('names the key of another machine whose request of the same name it replaces on the medium', async () => {
    await using first = await place();
    await using second = await place();
    const { fingerprint: shown, replaced } = await first.ask();
    expect([replaced, (await first.ask()).replaced]).toEqual([null, null]);
    await mkdir(join(second.medium, 'fleet', 'requests'), { recursive: true });
    await copyFile(join(first.medium, REQUEST), join(second.medium, REQUEST));
    expect((await second.ask()).replaced).toBe(shown);
    expect((await second.ask()).replaced).toBeNull();
    await writeFile(join(second.medium, REQUEST), 'torn');
    expect((await second.ask()).replaced).toBeNull();
  });

  it('without a medium creates no identity', async () => {
    await using it = await place();
    await rm(it.medium, { recursive: true });
    await expect(it.ask()).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
    expect(findIdentity(it.state)).toBeUndefined();
  });

  it('L10: does not use a key that others can read -> PERMISSION', async () => {
    await using it = await place();
    await it.ask();
    const file = keyFile(it.state.directory);
    for (const mode of [0o644, 0o604, 0o602]) {
      await chmod(file, mode);
      const refused = { code: 'PERMISSION', hint: expect.stringContaining('Run chmod 600 on it') };
      await expect(loadKey(owner(it))).rejects.toMatchObject(refused);
      await expect(loadKeyText(owner(it))).rejects.toMatchObject(refused);
      await expect(it.ask()).rejects.toMatchObject(refused);
    }
    // The group of the process is nobody else: volumes in clusters are given to it.
    await chmod(file, 0o660);
    await expect(loadKey(owner(it))).resolves.toBeDefined();
  });

  it('without its key, or with that of another agent or another file in its place, signs nothing and creates no other key', async () => {
    await using it = await place();
    const { fingerprint: shown } = await it.ask();
    const file = keyFile(it.state.directory);
    const uses = [() => loadKey(owner(it)), () => loadKeyText(owner(it)), () => it.ask()];
    await rm(file);
    for (const use of uses)
      await expect(use()).rejects.toMatchObject({ code: 'KEY_MISSING', message: `${file} is not there` });
    const other = generatePrivateKey();
    await writeFile(file, other, { mode: 0o600 });
    for (const use of uses)
      await expect(use()).rejects.toMatchObject({
        code: 'KEY_MISSING',
        message: expect.stringMatching(
          new RegExp(`^the key in ${file} has the fingerprint .* with ${shown}$`),
        ),
        hint: expect.stringContaining('move the state directory away and enrol again'),
      });
    expect(await readFile(file, 'utf8')).toBe(other);
    await writeFile(file, 'no key', { mode: 0o600 });
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: 'KEY_FORMAT' });
  });
});
