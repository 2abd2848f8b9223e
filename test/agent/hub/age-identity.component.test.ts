import { chmod, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { isSignedRecipient } from '#bundles/trust/age/recipient';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { parseDocument } from '#bundles/json/validate';
import { ageFile, findAgeIdentity, loadOrMakeRecipient } from '../../../agent/hub/age-identity.ts';
import { loadKey } from '../../../agent/hub/agent-key.ts';
import { addRecipientToRequest, askWithRecipient } from '../../../agent/enroll/ask-with-recipient.ts';
import { enroll } from '../../../agent/enroll/enroll.ts';
import type { Request } from '../../../agent/model/request.ts';
import { readIdentity, saveRequest } from '../../../agent/store/identity.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { openFast, testEdge } from '../world.ts';

const WISH = {
  fleet: 'halden',
  site: 'plant-7',
  agent: 'kiosk-1',
  channel: { environment: 'prod', clusterType: 'factory-host' },
  labels: {},
  pinnedRoot: digestOf('root'),
};
const NEXT = new Date('2027-01-01T00:00:00Z');
const OWNER = { fleet: 'halden', site: 'plant-7', agent: 'kiosk-1' };

const place = async () => {
  const directory = await temporaryDirectory('age-identity');
  const medium = join(directory.path, 'stick');
  await mkdir(medium);
  const state = openFast(join(directory.path, 'state'), { create: true });
  const ask = async () => {
    const { request, recipient } = await enroll(state, testEdge(), WISH, medium);
    const bytes = await readFile(join(medium, request), 'utf8');
    return { recipient, bytes, request: parseDocument('request', JSON.parse(bytes), 'the request') };
  };
  return {
    state,
    ask,
    /** As an agent was before there were secrets. */
    forget: async () => {
      const { recipient: _, recipientSignature: __, ...old } = JSON.parse(readIdentity(state).request);
      saveRequest(state, canonicalJson(old));
      await rm(ageFile(state.directory));
    },
    [Symbol.asyncDispose]: async () => {
      state[Symbol.dispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
};

const isSigned = ({ recipient = '', recipientSignature = '', at }: Request, key: string): boolean =>
  isSignedRecipient({ ...OWNER, recipient, at }, recipientSignature, parsePublicKey(key));

describe('the age identity of an agent', () => {
  it("is created at enrolment for its owner alone, and is in the request, signed by the agent's key", async () => {
    await using it = await place();
    const { request, recipient } = await it.ask();
    expect((await stat(ageFile(it.state.directory))).mode & 0o777).toBe(0o600);
    expect(request.recipient).toBe(recipient);
    expect(isSigned(request, readIdentity(it.state).key)).toBe(true);
    const identity = (await findAgeIdentity(it.state.directory)) ?? '';
    expect(identity).toMatch(/^AGE-SECRET-KEY-1/);
    expect(it.state.db.serialize().includes(identity)).toBe(false);
  });

  it('L10: is not used when others can read it -> PERMISSION', async () => {
    await using it = await place();
    await it.ask();
    await chmod(ageFile(it.state.directory), 0o644);
    const refused = {
      code: 'PERMISSION',
      message: 'the age identity of this agent can be read or changed by others (mode 0644)',
      at: { file: ageFile(it.state.directory) },
    };
    await expect(findAgeIdentity(it.state.directory)).rejects.toMatchObject(refused);
    await expect(loadOrMakeRecipient(it.state.directory)).rejects.toMatchObject(refused);
  });

  it('is created once: a repeated request names the same recipient', async () => {
    await using it = await place();
    const first = await it.ask();
    expect((await it.ask()).bytes).toBe(first.bytes);
    expect(await loadOrMakeRecipient(it.state.directory)).toBe(first.recipient);
  });

  it('is created at the next start of an agent that was enrolled before, and its request then names it', async () => {
    await using it = await place();
    await it.ask();
    await it.forget();
    const asked = JSON.parse(
      (await addRecipientToRequest(it.state, readIdentity(it.state), NEXT)).request,
    ) as Request;
    expect(asked.recipient).toBe(await loadOrMakeRecipient(it.state.directory));
    expect(isSigned(asked, readIdentity(it.state).key)).toBe(true);
    expect((await it.ask()).request).toEqual(asked);
  });

  it('that is lost is not replaced at a start, but by the next enrolment command', async () => {
    await using it = await place();
    const { recipient } = await it.ask();
    await rm(ageFile(it.state.directory));
    await addRecipientToRequest(it.state, readIdentity(it.state), NEXT);
    expect(await findAgeIdentity(it.state.directory)).toBeUndefined();
    const again = await it.ask();
    expect(again.recipient).not.toBe(recipient);
    expect(isSigned(again.request, readIdentity(it.state).key)).toBe(true);
  });

  it('that replaces another has a later time in the request, also when the clock was set back', async () => {
    await using it = await place();
    const first = await it.ask();
    await rm(ageFile(it.state.directory));
    const key = await loadKey({ state: it.state, identity: readIdentity(it.state) });
    const [identity, dead] = [readIdentity(it.state), new Date(0)];
    const { at, ...asked } = JSON.parse(
      (await askWithRecipient(it.state, identity, key, { now: dead })).request,
    ) as Request;
    expect(asked.recipient).not.toBe(first.recipient);
    expect(Date.parse(at) - Date.parse(first.request.at)).toBe(1000);
  });

  it('whose signature has an older form is signed again', async () => {
    await using it = await place();
    const { request, recipient } = await it.ask();
    saveRequest(it.state, canonicalJson({ ...request, recipientSignature: 'AAAA' }));
    const again = await it.ask();
    expect(again.recipient).toBe(recipient);
    expect(isSigned(again.request, readIdentity(it.state).key)).toBe(true);
  });
});
