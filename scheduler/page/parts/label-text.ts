/** 'region=north, line=a'; empty without labels. */
export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map((pair) => pair.join('='))
    .join(', ');
