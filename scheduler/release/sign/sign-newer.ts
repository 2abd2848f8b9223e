import { isFleetError } from '#bundles/errors';

/** The number of versions that a signer lets a request skip. */
const TRIES = 100;

/**
 * Signs under the first version, from `first` on, that the signer accepts. A process that was stopped between signing and
 * storing the result has used up a version: a remote signer remembers it and refuses to sign other content under it. A local
 * key accepts `first`.
 * @throws FleetError NOT_NEWER if the signer still refuses after TRIES versions: the layout or database is an old copy
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
