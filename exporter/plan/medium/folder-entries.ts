/** Characters of a long name in one entry; another entry holds the short name. */
const NAME_CHARACTERS = 13;

/** Entries of a name in a folder of FAT. 64 hex digits, a blob of a layout, take 6. */
export const entriesOf = (name: string): number => 1 + Math.ceil(name.length / NAME_CHARACTERS);
