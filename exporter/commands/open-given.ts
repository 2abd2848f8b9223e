import { open } from 'node:fs/promises';
import { Args, Flags } from '@oclif/core';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { checkPrivate } from '#bundles/trust/keys/check-private';
import type { OpenMedium, OpenOptions } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { repeatable } from '#cli/flags';

/** Argument of the commands that read media. */
export const MEDIUM_ARG = {
  medium: Args.string({
    required: true,
    description: 'A folder, a tar file, or a part of a set; several for the sticks of one set',
  }),
};

export const IDENTITY_FLAG = {
  identity: Flags.string({
    ...repeatable,
    description: 'age identity file that decrypts sealed parts',
  }),
};

export type OpenFlags = { readonly identity?: readonly string[] | undefined };

/** @throws FleetError as openMedium; KEY_MISSING, KEY_FORMAT, PERMISSION for an identity file */
export const openGiven = async (
  media: string | readonly string[],
  { identity = [] }: OpenFlags,
  signal: AbortSignal,
): Promise<OpenMedium> => openMedium(media, { ...(await openOptions(identity)), signal });

/**
 * Opens a medium for its plain files, such as reports. Those are readable on a single volume whose parts are sealed to others. With
 * an identity, or with several volumes, opens the whole medium.
 * @throws FleetError as openGiven
 */
export const openForFiles = async (
  media: readonly string[],
  flags: OpenFlags,
  signal: AbortSignal,
): Promise<OpenMedium> => {
  const [only] = media;
  const mayBeSealed = media.length === 1 && (flags.identity ?? []).length === 0;
  return only !== undefined && mayBeSealed ? openFiles(only, { signal }) : openGiven(media, flags, signal);
};

/** Without an identity, opening sealed parts fails with MEDIUM_SEALED. */
export const openOptions = async (files: readonly string[]): Promise<OpenOptions> => {
  if (files.length === 0) return {};
  const identities = (await Promise.all(files.map(readIdentities))).flat();
  return {
    unseal: async (bytes) => {
      // Loading age takes longer than reading a small medium.
      const { openAge } = await import('#bundles/trust/age/open-age');
      return openAge(bytes, identities).catch((error: unknown) => {
        throw isFleetError(error, 'NOT_A_RECIPIENT') ? wrongIdentityError(files, error) : error;
      });
    },
  };
};

/** The error for a holder of a key file; an agent has its own. */
const wrongIdentityError = (files: readonly string[], cause: FleetError): FleetError =>
  new FleetError('NOT_A_RECIPIENT', `no identity in ${files.join(' or ')} opens it: it is sealed to others`, {
    hint: 'Give --identity with the key of an agent of its sites, or of a --recipient of create',
    cause,
  });

const MAX_BYTES = 65_536;

/** The lines of an age identity file, comments left out. */
const readIdentities = async (file: string): Promise<readonly string[]> => {
  try {
    await using handle = await open(file, 'r');
    const found = await handle.stat();
    checkPrivate(found, file, 'the identity in it', 'keep it on another disk');
    const text = found.size > MAX_BYTES ? '' : await handle.readFile('utf8');
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
    if (lines.length > 0 && lines.every((line) => line.startsWith('AGE-SECRET-KEY-'))) return lines;
    throw new FleetError('KEY_FORMAT', 'this is not an age identity file', {
      at: { file },
      hint: text.startsWith('age-encryption.org/')
        ? 'It is encrypted: open it first, with age --decrypt'
        : 'age-keygen makes one: a line that begins with AGE-SECRET-KEY-1',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `reading ${file}`);
    throw new FleetError('KEY_MISSING', `there is no identity file ${file}`);
  }
};
