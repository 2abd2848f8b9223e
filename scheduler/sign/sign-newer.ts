import { isFleetError } from '#bundles/errors';

/** As many as a signer lets a request skip. */
const TRIES = 100;

/**
 * Signs under the first number from `first` on that the signer takes. A build or command that was stopped after a signature
 * and before it was written down has used up a number for nothing; who holds the key elsewhere remembers it and refuses to
 * sign it again with other content. A key at hand takes the first.
 * @throws FleetError NOT_NEWER when many numbers on it still refuses: the layout or database is an old copy
 */
export const signNewer = async <T>(first: number, sign: (version: number) => Promise<T>): Promise<T> => {
  for (let version = first; ; version++) {
    try {
      return await sign(version);
    } catch (error) {
      if (!isFleetError(error, 'NOT_NEWER') || version >= first + TRIES) throw error;
    }
  }
};
