/** Names of properties in whose schemas writeOnly is true anywhere: their values are never shown. */
export const writeOnlyNames = (schema: unknown): ReadonlySet<string> => {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, one] of Object.entries((part as { properties?: object }).properties ?? {}))
      if (JSON.stringify(one)?.includes('"writeOnly":true')) names.add(name);
    for (const one of Object.values(part)) visit(one);
  };
  visit(schema);
  return names;
};
