import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { openSecretSet, type SetAddress } from '#bundles/trust/secrets/open';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { verdict } from '../../verdict.ts';

/** A sealed set of one site in the hands of another. What is expected stands in the title, and only there. */
const [here, there] = [await generateX25519Identity(), await generateX25519Identity()];
const [toHere, toThere] = [await identityToRecipient(here), await identityToRecipient(there)];
const MINE: SetAddress = { fleet: 'acme', site: 'plant-7', name: 'database' };

const sealed = (change: Partial<SetAddress>, ...recipients: readonly string[]): Promise<Buffer> =>
  sealSecretSet({ ...MINE, version: 1, values: { password: 'c2VzYW1l' }, ...change }, recipients);

describe("another site's secrets", () => {
  const offered = (title: string, set: () => Promise<Buffer>): void => {
    it(title, async () => {
      const bytes = await set();
      expect(await verdict(() => openSecretSet(bytes, here, MINE))).toBe(title.split(' -> ')[1]);
    });
  };

  offered('H20: a set of this site -> ACCEPT', () => sealed({}, toHere));
  offered('H20: a set that is sealed to another site -> SECRET_UNREADABLE', () => sealed({}, toThere));
  offered('H20: a set for another site, sealed to this one too -> WRONG_SITE', () =>
    sealed({ site: 'plant-8' }, toThere, toHere),
  );
  offered('H20: a set of another name, moved here -> SUBJECT_MISMATCH', () =>
    sealed({ name: 'mail' }, toHere),
  );
  offered('H20: a set of another fleet -> WRONG_FLEET', () => sealed({ fleet: 'other' }, toHere));
});
