import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '#bundles/json/canonical';
import { addDays } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { rotateRoot } from '../../../../../scheduler/keys/root/rotate-root.ts';
import { newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import { enrolledHub, HOSTS, NOW, type TestAgent, type TestHub } from '../../test-hub.ts';

/** A hub whose root has the keys of two people, and whose release asks for values. */
export type ValuesHub = TestHub & {
  readonly agent: TestAgent;
  readonly bob: SigningKey;
  readonly eve: SigningKey;
};

export const INPUTS: { readonly [name: string]: Json } = {
  line: { type: 'integer', minimum: 1 },
  gate: { type: 'string', 'x-editable-by': 'network' },
  adminPassword: { type: 'string' },
};

export const release = (hub: TestHub, version: number, siteInputs = INPUTS) =>
  hub.layoutWriter.release({
    channel: HOSTS,
    version,
    bundles: [{ kind: 'host', packages: { app: { 'package.json': '{}' } }, siteInputs }],
  });

export const valuesHub = async (): Promise<ValuesHub> => {
  const hub = await enrolledHub();
  await release(hub, 1);
  const [bob, eve] = [newSigningKey(), newSigningKey()];
  const input = rotateRoot(hub.keys.root, {
    add: [bob, eve].map((key) => ({ role: 'bundle' as const, key: key.public })),
    remove: [],
    thresholds: { bundle: 1 },
    expires: addDays(NOW, 600),
    addAuthorities: [],
    removeAuthorities: [],
  });
  const keys = join(hub.path, 'keys');
  await writeFile(join(keys, '2.root.json'), await createRoot(input, [hub.signedFleet.keys.root]));
  return { ...hub, keys: await openKeyDirectory(keys), bob, eve };
};
