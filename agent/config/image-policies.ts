import { readFileSync } from 'node:fs';
import { FleetError, toFleetError } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/signatures/image-policy';
import { signatureKey } from '#bundles/signatures/signature-key';
import type { Config } from './config.ts';

/**
 * The machine's own policies with the keys that its files hold. A file that cannot be read lets nothing through.
 * @throws FleetError CONFIG_INVALID
 */
export const imagePolicies = ({ imagePolicy }: Pick<Config, 'imagePolicy'>): readonly ImagePolicy[] =>
  imagePolicy.map(({ match, except = [], keys }, index) => ({
    name: `${index + 1} of this machine`,
    match,
    except,
    keys: keys.map(readKey),
  }));

const readKey = (file: string): string => {
  try {
    return signatureKey(readFileSync(file, 'utf8')).pem;
  } catch (cause) {
    const { message, hint } = toFleetError(cause);
    throw new FleetError('CONFIG_INVALID', `a key of imagePolicy cannot be used: ${message}`, {
      at: { file },
      hint: hint ?? 'Put the public key there, or correct imagePolicy',
      cause,
    });
  }
};
