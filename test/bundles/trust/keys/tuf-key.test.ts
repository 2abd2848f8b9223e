import { describe, expect, it } from 'vitest';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { fromTufKey, toTufKey, tufKeyId } from '#bundles/trust/keys/tuf-key';
import { newKey } from '../root/new-key.ts';

describe("a key in TUF's form", () => {
  it('has the key id that securesystemslib computes', () => {
    const pem =
      '-----BEGIN PUBLIC KEY-----\n' +
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEnWpniJa/UPbjozC253Z+qyoDqOVG\n' +
      'RLEge/AdcexNM8EmS+J0n9r7lMJ6uh3Z+y8pUH1dzymgv2AbMAfjH404bQ==\n' +
      '-----END PUBLIC KEY-----\n';
    expect(tufKeyId(parsePublicKey(pem))).toBe(
      '5f0993e60a11749cf647701972642903bbb9d7e9b124341e817f7941b886ebfc',
    );
  });

  it('is read back as the same key', () => {
    const key = newKey().public;
    expect(fromTufKey(toTufKey(key)).hint).toBe(key.hint);
  });
});
