import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { signatureKey } from '#bundles/trust/images/signature-key';
import type { Config } from './config.ts';

/**
 * The image policies of this machine with their keys read from files. An unreadable file is an error, not a weaker policy.
 * @throws FleetError CONFIG_INVALID, PERMISSION where others can change a key
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
    return signatureKey(readTrustedFile(file).toString('utf8')).pem;
  } catch (cause) {
    if (isFleetError(cause, 'PERMISSION')) throw cause;
    const { message, hint } = toFleetError(cause);
    throw new FleetError('CONFIG_INVALID', `a key of imagePolicy cannot be used: ${message}`, {
      at: { file },
      hint: hint ?? 'Put the public key there, or correct imagePolicy',
      cause,
    });
  }
};
