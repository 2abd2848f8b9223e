/** A value of a record that data names: what objects inherit, such as `constructor`, is no value of it. */
export const ownValue = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
