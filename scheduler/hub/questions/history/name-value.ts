import { type Digest, hexOf, isDigest } from '#bundles/digest';
import { type Channel, parseChannel } from '#bundles/names';
import type { Change } from './read-changes.ts';
import { formatVersion, type Version } from './describe-package.ts';
import type { Releases } from './read-releases.ts';

/** A package as people know it; by its digest where no release in the layout has it. */
export type NamedPackage = {
  readonly package: Digest;
  readonly name: string;
  readonly version: Version | null;
};

export const namePackage = async (
  releases: Releases,
  channel: Channel,
  assignment: string,
  digest: Digest,
): Promise<NamedPackage> => {
  const version = (await releases.versionOf(channel, assignment, digest)) ?? null;
  const short = hexOf(digest).slice(0, 12);
  const isNamed = version !== null && (version.version !== null || version.commit !== null);
  const name = version === null ? short : formatVersion(version);
  return { package: digest, name: isNamed || version === null ? name : `${name} ${short}`, version };
};

/** The value of a change for people: packages by version, other digests shortened. */
export const nameValue = async (
  releases: Releases,
  { channel, assignment, field }: Pick<Change, 'channel' | 'assignment' | 'field'>,
  value: string | null,
): Promise<string> => {
  if (value === null) return 'none';
  if (assignment === null) return isDigest(value) ? shorten(value) : value;
  const words = await Promise.all(
    value
      .split(' ')
      .map(async (word) =>
        isDigest(word) && field !== 'values'
          ? (await namePackage(releases, parseChannel(channel), assignment, word)).name
          : shorten(word),
      ),
  );
  return words.join(' ');
};

const shorten = (text: string): string => (isDigest(text) ? hexOf(text).slice(0, 12) : text);
