"""Gives a fresh Tryton database one company that can bill, over JSON-RPC.

seed.py URL ADMIN-PASSWORD BRIDGE-PASSWORD prints the ids that tests need, as the query of a URL."""
import base64
import json
import sys
import urllib.parse
import urllib.request

url, admin, bridge = sys.argv[1:]
header = {"Content-Type": "application/json"}
context = {}


def call(method, *params):
    body = json.dumps({"id": 1, "method": method, "params": list(params)}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, header), timeout=300) as answer:
        said = json.load(answer)
    if "error" in said:
        sys.exit("%s: %s" % (method, said["error"]))
    return said["result"]


def model(name, method, *params):
    return call("model.%s.%s" % (name, method), *params, context)


def create(name, /, **values):
    return model(name, "create", [values])[0]


def find(name, *domain):
    ids = model(name, "search", list(domain), 0, 1, None)
    if not ids:
        sys.exit("no %s with %s" % (name, domain))
    return ids[0]


def decimal(text):
    return {"__class__": "Decimal", "decimal": text}


def date(year, month, day):
    return {"__class__": "date", "year": year, "month": month, "day": day}


user, session = call("common.db.login", "admin", {"password": admin}, "en")
header["Authorization"] = "Session " + base64.b64encode(("admin:%s:%s" % (user, session)).encode()).decode()

# The company.
currencies = {
    code: create("currency.currency", name=code, code=code, symbol=code, rounding=decimal(unit), digits=digits)
    for code, unit, digits in (("EUR", "0.01", 2), ("JPY", "1", 0), ("KWD", "0.001", 3))
}
for currency in currencies.values():
    create("currency.currency.rate", currency=currency, rate=decimal("1"), date=date(2025, 1, 1))
party = create("party.party", name="Tidemark Test Agency", addresses=[["create", [{"street": "1 Main Road"}]]])
company = create("company.company", party=party, currency=currencies["EUR"])
model("res.user", "write", [user], {"companies": [["add", [company]]], "company": company})
context = {"company": company, "language": "en"}

# Its accounts, by the wizard that a person would use.
template = model("ir.model.data", "search_read",
                 [["module", "=", "account"], ["fs_id", "=", "account_template_root_en"]], 0, 1, None, ["db_id"])[0]["db_id"]
wizard = "wizard.account.create_chart."
run = call(wizard + "create", context)[0]
pages = {"start": {}}
call(wizard + "execute", run, pages, "account", context)
pages["account"] = {"account_template": template, "company": company}
call(wizard + "execute", run, pages, "create_account", context)
accounts = {kind: find("account.account", ["type." + kind, "=", True], ["company", "=", company])
            for kind in ("receivable", "payable", "revenue", "expense")}
pages["properties"] = {
    "company": company, "account_receivable": accounts["receivable"], "account_payable": accounts["payable"],
    "category_account_revenue": accounts["revenue"], "category_account_expense": accounts["expense"],
}
call(wizard + "execute", run, pages, "create_properties", context)
call(wizard + "delete", run, context)

# Years in which a person can post.
move_type = find("ir.sequence.type", ["name", "=", "Account Move"])
invoice_type = find("ir.sequence.type", ["name", "=", "Invoice"])
for year in range(2025, 2030):
    moves = create("ir.sequence", name="Moves %d" % year, sequence_type=move_type, company=company)
    numbers = create("ir.sequence.strict", name="Invoices %d" % year, sequence_type=invoice_type, company=company,
                     prefix="%d-" % year, padding=5)
    kinds = ("out_invoice", "out_credit_note", "in_invoice", "in_credit_note")
    sequences = dict({kind + "_sequence": numbers for kind in kinds}, company=company)
    fiscal = create("account.fiscalyear", name=str(year), company=company, start_date=date(year, 1, 1), end_date=date(year, 12, 31),
                    post_move_sequence=moves, invoice_sequences=[["create", [sequences]]])
    model("account.fiscalyear", "create_period", [fiscal])

# What an invoice needs.
journal = find("account.journal", ["type", "=", "revenue"])
main_tax = find("account.account", ["name", "=", "Main Tax"], ["company", "=", company])
tax = create("account.tax", name="VAT 20%", description="VAT 20%", type="percentage", rate=decimal("0.20"), company=company,
             invoice_account=main_tax, credit_note_account=main_tax)
hour = find("product.uom", ["symbol", "=", "h"])
term = create("account.invoice.payment_term", name="30 days",
              lines=[["create", [{"type": "remainder", "relativedeltas": [["create", [{"days": 30}]]]}]]])
customers = [
    create("party.party", name=name, customer_payment_term=term, addresses=[["create", [{"street": "2 Side Road", "invoice": True}]]])
    for name in ("Acme", "O'Keefe & Fleur’s")
]

# Two users: one as the guide asks for, and one without rights.
group = find("res.group", ["name", "=", "Account"])
for login, groups in (("bridge", [group]), ("guest", [])):
    create("res.user", name=login, login=login, password=bridge, companies=[["add", [company]]], company=company,
           groups=[["add", groups]] if groups else [])

print(urllib.parse.urlencode({
    "user": "bridge", "guest": "guest", "password": bridge, "admin": admin, "company": company, "journal": journal, "receivable": accounts["receivable"],
    "revenue": accounts["revenue"], "unit": hour, "tax": tax, "customer": customers[0], "other": customers[1], **currencies,
}))
