import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { signReceipt, verifyReceipt } from '#bundles/trust/reports/receipt';
import type { ReceiptPredicate } from '#bundles/formats/statements/predicates';
import { parseRoot } from '#bundles/trust/root/root';
import { lease, NOW, release, rootOf } from '../accept/signed-world.ts';
import { newKey, publics } from '../root/new-key.ts';
import { verdict } from '../../verdict.ts';

const hub = newKey();
const root = parseRoot(await rootOf(1, { keys: { receipt: publics([hub]) } }));
const predicate: ReceiptPredicate = {
  fleet: 'acme',
  agent: 'plant-7/line-1',
  from: 1,
  to: 5,
  head: digestOf('event 5'),
  time: `${NOW.toISOString().slice(0, 19)}Z`,
};
const judged = async (change: Partial<ReceiptPredicate> = {}, key = hub) => {
  const receipt = await signReceipt(digestOf('events'), { ...predicate, ...change }, key);
  return verdict(() => verifyReceipt(receipt, root, 'plant-7/line-1'));
};

describe('a receipt', () => {
  it('is read when a receipt key of the root signed it for this agent', async () => {
    const receipt = await signReceipt(digestOf('events'), predicate, hub);
    expect(verifyReceipt(receipt, root, 'plant-7/line-1')).toEqual(predicate);
  });

  it('is refused when it is for another agent or of another fleet', async () => {
    expect(await judged({ agent: 'plant-7/line-2' })).toBe('RECEIPT_INVALID');
    expect(await judged({ agent: 'plant-8/line-1' })).toBe('RECEIPT_INVALID');
    expect(await judged({ fleet: 'other' })).toBe('RECEIPT_INVALID');
  });

  it('is refused when another role of the root signed it', async () => {
    expect(await judged({}, release)).toBe('UNKNOWN_KEY');
    expect(await judged({}, lease)).toBe('UNKNOWN_KEY');
    expect(await judged({}, { public: hub.public, sign: release.sign })).toBe('BAD_SIGNATURE');
  });

  it('is refused with values outside of the schema', async () => {
    expect(await judged({ to: 0 })).toBe('SCHEMA');
    expect(await judged({ head: 'sha256:0' })).toBe('SCHEMA');
  });
});
