import { describe, expect, it } from 'vitest';
import { fingerprint } from '#bundles/trust/keys/key';
import { createRoot, signRoot } from '#bundles/trust/root/root';
import { judgeDraft } from '../../../../scheduler/keys/root/judge-draft.ts';
import { verifyRoots } from '../../../../scheduler/keys/root/verify-roots.ts';
import { refusal } from '../../../bundles/refusal.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { makeRoot, NOW, rootInputOf } from './officers.ts';

const [ada, ben, cleo, dora, eve] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const one = await makeRoot([ada, ben, cleo], [ada, ben]);
const two = await makeRoot([ben, cleo, dora], [ada, ben, dora], { version: 2 });
const three = await makeRoot([cleo, dora, eve], [ben, dora, eve], { version: 3 });

const file = (bytes: Buffer, name = 'x.json') => ({ file: name, bytes });
const verify = (...all: readonly Buffer[]) =>
  verifyRoots(
    all.map((bytes) => file(bytes)),
    NOW,
  );
const refused = (...all: readonly Buffer[]) => refusal(() => verify(...all));
const draft = (version: number, signers: readonly (typeof ada)[]) =>
  createRoot(rootInputOf([ben, cleo, dora], { version }), signers);

describe('a chain of roots', () => {
  it('is verified in any order, from the first or a later root', () => {
    const { drafts, refusal: no } = verify(three.bytes, one.bytes, two.bytes);
    expect(no).toBeUndefined();
    expect(drafts.map(({ root, complete }) => [root.version, complete])).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ]);
    expect(verify(two.bytes, three.bytes).refusal).toBeUndefined();
  });

  it("reports which signatures are missing: of the previous root's officers or its own", async () => {
    const old = verify(one.bytes, await draft(2, [ben, dora])).refusal;
    expect(old).toMatchObject({
      code: 'ROOT_THRESHOLD_OLD',
      subject: 'root 2',
      message: 'one more officer of root 1 must sign it',
      hint: expect.stringContaining(fingerprint(ada.public)),
    });
    expect(old?.hint).not.toContain(fingerprint(ben.public));
    const own = verify(one.bytes, await draft(2, [ada, ben])).refusal;
    expect(own).toMatchObject({
      code: 'ROOT_THRESHOLD_NEW',
      message: 'one more officer of root 2 must sign it',
    });
    expect(verify(await draft(1, [])).refusal?.message).toBe('2 more officers of root 1 must sign it');
  });

  it('is refused with a gap, a duplicate, or a root of another fleet', async () => {
    expect(refused(one.bytes, three.bytes)).toBe('ROOT_VERSION');
    expect(refused(one.bytes, two.bytes, two.bytes)).toBe('DUPLICATE');
    const foreign = await makeRoot([ben, cleo, dora], [ada, ben, dora], { version: 2, fleet: 'other' });
    expect(refused(one.bytes, foreign.bytes)).toBe('ROOT_FLEET');
    expect(refused(await draft(2, [ben]))).toBe('ROOT_THRESHOLD_NEW');
  });

  it('is refused when its last root has expired, but not when an earlier one has', async () => {
    const past = new Date('2026-01-01T00:00:00Z');
    const ended = await makeRoot([ben, cleo, dora], [ada, ben, dora], { version: 2, expires: past });
    expect(verify(one.bytes, ended.bytes).refusal).toMatchObject({ code: 'ROOT_EXPIRED' });
    expect(verify(one.bytes, ended.bytes, three.bytes).refusal).toBeUndefined();
  });

  it('is refused when it goes from officers to a development root', async () => {
    const dev = await createRoot(rootInputOf([ada], { version: 2, dev: true, thresholds: { root: 1 } }), [
      ada,
      ben,
    ]);
    expect(refused(one.bytes, dev)).toBe('ROOT_FORMAT');
  });
});

describe('a draft of a root', () => {
  it('that was changed after a signature is refused, with the officer of that signature', async () => {
    const text = (await draft(2, [ada, dora])).toString();
    const changed = Buffer.from(text.replace('2028-11-21T08:00:00Z', '2028-11-22T08:00:00Z'));
    expect(() => judgeDraft(changed, one)).toThrow(/^the signature of officer [0-9a-f]{64} does not match/);
    expect(refusal(() => judgeDraft(changed, one))).toBe('BAD_SIGNATURE');
  });

  it('needs one signature by an officer of both roots', async () => {
    const signed = await signRoot(await draft(2, []), [ben], one);
    const { signatures } = judgeDraft(signed, one);
    expect(signatures.map(({ of, signed: by }) => [of, by.map(fingerprint)])).toEqual([
      [1, [fingerprint(ben.public)]],
      [2, [fingerprint(ben.public)]],
    ]);
  });
});
