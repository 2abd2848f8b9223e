import { signPayload } from '#bundles/trust/statements/sign-payload';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';
import { ROOT_EXPIRES } from './fleet.ts';

const newKey = (): SigningKey => loadSigningKey(generatePrivateKey());

const [ada, ben, cleo, dora, scheduler, approver, online] = Array.from({ length: 7 }, newKey) as [
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
];
const officersRoot = (
  version: number,
  officers: readonly SigningKey[],
  signers: readonly SigningKey[],
): Promise<Buffer> =>
  createRoot(
    {
      fleet: 'golden-officers',
      version,
      expires: ROOT_EXPIRES,
      thresholds: { root: 2, bundle: 2 },
      keys: {
        root: officers.map((key) => key.public),
        bundle: [scheduler.public, approver.public],
        release: [online.public],
        lease: [online.public],
        receipt: [online.public],
        audit: [online.public],
      },
    },
    signers,
  );

/** A fleet with officers: two of three sign, one of them is replaced; two sign the bundle statement given. */
export const makeOfficers = async (
  payload: Buffer,
): Promise<readonly (readonly [path: string, bytes: Buffer])[]> => [
  ['1.root.json', await officersRoot(1, [ada, ben, cleo], [ada, cleo])],
  ['2.root.json', await officersRoot(2, [ben, cleo, dora], [ben, cleo])],
  ['bundle.scheduler.sigstore.json', await signPayload(payload, scheduler)],
  ['bundle.approver.sigstore.json', await signPayload(payload, approver)],
  ['scheduler.pub', Buffer.from(scheduler.public.pem)],
  ['approver.pub', Buffer.from(approver.public.pem)],
];
