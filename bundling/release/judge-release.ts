/** What a release of a version is judged by. */
export type ReleaseFacts = {
  /** Of package.json, which `--version` prints. */
  readonly version: string;
  /** Of package-lock.json. */
  readonly locked: string;
  readonly texts: {
    /** CHANGELOG.md */
    readonly changelog: string;
    /** docs/upgrade-notes.md */
    readonly upgradeNotes: string;
    readonly readme: string;
    /** SECURITY.md */
    readonly security: string;
  };
  /** Tags of the commit that is checked out. */
  readonly tags: readonly string[];
  /** Files that differ from that commit, as `git status --porcelain` prints them. */
  readonly changed: readonly string[];
};

/** What has to be done before this version can be released, a sentence each and in this order; empty: nothing. */
export const judgeRelease = ({ version, locked, texts, tags, changed }: ReleaseFacts): readonly string[] => {
  const found: string[] = [];
  const minor = version.split('.').slice(0, 2).join('.');
  const { changelog, upgradeNotes, readme, security } = texts;
  if (locked !== version)
    found.push(`package-lock.json has version ${locked}: run npm install --package-lock-only`);
  const section = lineOf(changelog, new RegExp(`^## ${RegExp.escape(version)} - \\d{4}-\\d\\d-\\d\\d$`));
  const unreleased = lineOf(changelog, /^## Unreleased$/);
  if (unreleased !== undefined && entriesBelow(changelog, unreleased) > 0)
    found.push(
      section === undefined
        ? `CHANGELOG.md:${unreleased}: rename "Unreleased" to "${version} - <date>", and put a new "## Unreleased" above it`
        : `CHANGELOG.md:${unreleased}: "Unreleased" has entries: move them to "${version}" (line ${section}), or set a newer version in package.json`,
    );
  else if (section === undefined) found.push(`CHANGELOG.md: there is no "## ${version} - <date>"`);
  const next = lineOf(upgradeNotes, /^## To the next release$/);
  const notes = lineOf(upgradeNotes, new RegExp(`^## To ${RegExp.escape(version)}$`));
  if (next !== undefined)
    found.push(
      notes === undefined
        ? `docs/upgrade-notes.md:${next}: rename "To the next release" to "To ${version}"`
        : `docs/upgrade-notes.md:${next}: move what is below "To the next release" to "To ${version}" (line ${notes}), or set a newer version in package.json`,
    );
  if (!readme.includes(`version ${minor}.`))
    found.push(`README.md: it does not say "This is version ${minor}."`);
  if (!security.includes(`(${minor})`))
    found.push(`SECURITY.md: the supported version in its table is not ${minor}`);
  if (changed.length > 0)
    found.push(`commit what differs from the commit: ${changed.map((line) => line.slice(3)).join(', ')}`);
  if (!tags.includes(`v${version}`))
    found.push(
      `tag the commit: git tag --sign v${version} --message "Fleet Ferry ${version}", then git push origin v${version}; .github/workflows/release.yaml builds, signs and publishes it`,
    );
  return found;
};

/** From 1. */
const lineOf = (text: string, pattern: RegExp): number | undefined => {
  const at = text.split('\n').findIndex((line) => pattern.test(line));
  return at < 0 ? undefined : at + 1;
};

/** Entries between a heading and the next one of its level. */
const entriesBelow = (text: string, line: number): number => {
  const below = text.split('\n').slice(line);
  const end = below.findIndex((one) => one.startsWith('## '));
  return below.slice(0, end < 0 ? undefined : end).filter((one) => one.startsWith('- ')).length;
};
