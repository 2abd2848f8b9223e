import { readFileSync } from 'node:fs';
import { FleetError, toFleetError } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { signatureKey } from '#bundles/trust/images/signature-key';
import type { Config } from './config.ts';

/**
 * The image policies of this machine with their keys read from files. An unreadable file is an error, not a weaker policy.
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
