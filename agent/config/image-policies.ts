import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { signatureKey } from '#bundles/trust/images/signature-key';
import { parseTrustedRoot } from '#bundles/trust/images/trusted-root';
import type { Config } from './config.ts';

/**
 * The image policies of this machine with their keys and trusted roots read from files. An unreadable file is an error, not a weaker policy.
 * @throws FleetError CONFIG_INVALID, PERMISSION where others can change a file
 */
export const imagePolicies = ({ imagePolicy }: Pick<Config, 'imagePolicy'>): readonly ImagePolicy[] =>
  imagePolicy.map(({ match, except = [], keys = [], certificates }, index) => {
    if (keys.length === 0 && !certificates) {
      throw new FleetError('CONFIG_INVALID', `imagePolicy ${index + 1} names nobody who may sign`, {
        hint: 'List keys, or certificates with trustedRoot and signers',
      });
    }
    return {
      name: `${index + 1} of this machine`,
      match,
      except,
      keys: keys.map((file) => read('a key', file, (text) => signatureKey(text).pem)),
      certificates: certificates && {
        ...certificates,
        trustedRoot: read('the trusted root', certificates.trustedRoot, parseTrustedRoot),
      },
    };
  });

const read = (what: string, file: string, parse: (text: string) => string): string => {
  try {
    return parse(readTrustedFile(file).toString('utf8'));
  } catch (cause) {
    if (isFleetError(cause, 'PERMISSION')) throw cause;
    const { message, hint } = toFleetError(cause);
    throw new FleetError('CONFIG_INVALID', `${what} of imagePolicy cannot be used: ${message}`, {
      at: { file },
      hint: hint ?? 'Put the file there, or correct imagePolicy',
      cause,
    });
  }
};
