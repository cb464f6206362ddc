// Text as it stands in HTML, between tags and in quoted attributes.

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
