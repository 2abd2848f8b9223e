import { createPrivateKey, randomBytes } from 'node:crypto';
import { loadSigningKey } from './key.ts';
import { encryptKey, RANDOM_BYTES } from './cosign-key.ts';
import { namingFile } from './naming-file.ts';

/** A private key as an encrypted key file that cosign reads, too. @throws FleetError KEY_FORMAT, naming the file it came from */
export const protectKey = (pem: string, password: string, file: string): string =>
  namingFile(file, () => {
    // Also accepts files of openssl ecparam; refuses curves other than P-256.
    loadSigningKey(pem);
    const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
    return encryptKey(der, password, randomBytes(RANDOM_BYTES));
  });
