import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';

/** A fresh key that exists nowhere else. */
export const newKey = (): SigningKey => loadSigningKey(generatePrivateKey());

export const publics = (keys: readonly SigningKey[]) => keys.map((key) => key.public);
