const LINK = /\s*<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))?)*)\s*(?:,|$)/sy;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i;

/** The target of `rel=next` in a Link header (RFC 8288), as it stands there: absolute or relative. */
export const nextPageOf = (link: string): string | undefined => {
  LINK.lastIndex = 0;
  for (let match = LINK.exec(link); match; match = LINK.exec(link)) {
    const rel = REL.exec(match[2] ?? '');
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return match[1];
    if (LINK.lastIndex >= link.length) return undefined;
  }
  return undefined;
};
