"""Frequent words that tell languages apart: of languages without a stop list, and of the others
those that a stop list leaves out, such as the words that say no.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MARKERS"]

MARKERS: Final = {
    "ca": "no sense cap pas també més però",
    "cs": "není nejsou ne bez ani nelze nebyl nebyla",
    "da": """
    ikke uden af blev bliver hvad nogle nogen flere gøre gør bruge bruges brug siger måde lige dage
    hvilket mellem efter selvom hvert eget tilbage første gang følgende
    """,
    "de": "nicht kein keine keinen keiner ohne",
    "el": "δεν μην χωρίς όχι",
    "en": "not no without nor can may will might must shall",
    "es": "no sin ni nunca",
    "fa": "نیست نمی‌شود هیچ بدون",
    "fi": "ei eivät ilman eikä",
    "fr": "ne pas n sans ni jamais aucun aucune",
    "hi": "नहीं बिना न",
    "hu": "nem nincs nélkül sem",
    "id": "tidak bukan tanpa bisa karena bahwa anda berkas pengguna dipakai memiliki",
    "it": "non senza né mai nessun nessuna",
    "nl": "niet geen zonder",
    "no": """
    ikke uten ikkje av ble blir hva noen noe flere gjøre gjør bruke brukes bruk sier måte like
    dager hvilke mellom etter selv hvert eget tilbake første gang følgende
    """,
    "pl": "nie bez ani niż",
    "pt": "não sem nem nunca",
    "ro": "nu fără nici",
    "ru": "не нет без ни",
    "sk": "nie je bez ani nemá",
    "sv": "inte utan ej",
    "tr": "değil yok değildir",
    "uk": "не немає без ні",
    "af": """
    die en van in is het nie wat vir met op aan by om te sy hulle ons jy daar hierdie deur uit ook
    as maar was word kan sal moet baie haar hom tot oor na
    """,
    "be": """
    і у з на да па за не што як гэта ён яна яны мы вы для або але таксама быў была было былі ёсць
    пры пад яго яе іх які якая якія каб калі толькі гэтага
    """,
    "bg": """
    и в на с за от да се не че по до като са е това който която което които но или тази този тези
    той тя те ние вие при след преди през между чрез може бъде беше бяха има към само още също
    много със във си му ѝ им ще
    """,
    "eo": """
    la de kaj en estas al por kun ne oni ke li ŝi ĝi ili mi vi ni tiu ĉi tio kiu kiuj kio sed aŭ
    el per pri sur estis povas ankaŭ pli plej kiel tre ĉiuj sia
    """,
    "et": """
    ja on ei et see oli ka kui mis aga või ning oma selle kes nad tema mida pärast enne kuid siis
    veel nii väga ma sa me te ta olid olema kõik üks mille saab peab ainult juures kohta
    """,
    "eu": """
    eta da ez bat du ere zen dira baina hau hori izan dute egin baino edo den duen zuen bere beste
    hori horren ziren bezala behar arte gehiago zituen dela
    """,
    "ga": """
    agus an na is i ar a tá ag le go ní sé sí bhí do de sin seo siad leis nach chun ó faoi mar atá
    iad é í sa den gach bheith eile nó
    """,
    "gl": """
    o a os as un unha uns unhas e ou non que de do da dos das en no na nos nas por para con polo
    pola ao aos á ás foi é son era ten máis tamén pero como cando onde moi esta este isto seu súa
    seus súas ata ser había entre sobre
    """,
    "he": "של את על לא הוא היא זה עם או גם כי אל",
    "hr": """
    i u je na se da za od su s a ne što koji koja koje kao ili ali nije bio bila bilo biti će po
    iz do o to ovaj ova ovo taj ta te svoj njegov njihov nakon prije između zbog samo još može
    mogu također bez tijekom
    """,
    "is": """
    og að í á er sem til um við en það var hann hún ekki með fyrir af ég þú þeir þær þau frá eða
    eftir hefur verið voru þegar þessi því svo einnig sér upp úr
    """,
    "lt": """
    ir yra į iš su kad tai ne buvo kaip bet ar jis ji jie jų jo po nuo iki apie per už prie prieš
    kuris kuri kurie kai dar labai tik savo gali būti taip pat šis ši šio arba
    """,
    "lv": """
    un ir ar no uz par ka tas bija kā bet vai viņš viņa viņi to pēc pirms līdz pie pa kas kur kad
    arī ļoti tikai savu var būt šis šī tā tiek jau gan starp ko kuru
    """,
    "mk": """
    и во на се да за од со не што е ќе како или но тој таа тие оваа овој ова оние кој која кое кои
    само уште по до при меѓу може бил била биле ги го му им сѐ нив
    """,
    "mr": "आणि आहे हे या ते तो ती आहेत होते होता होती मध्ये व त्या नाही पण किंवा एक केले म्हणून साठी",
    "ms": """
    yang dan di ke dari pada untuk dengan dalam oleh sebagai adalah ini itu tersebut atau tetapi
    kerana jika apabila ialah telah sedang boleh akan tidak juga lebih kepada daripada mereka saya
    anda beliau iaitu serta bagi satu seorang bahawa
    """,
    "ne": "र को मा छ हो यो त्यो पनि लागि छन् थियो भने एक गरेको भएको तर वा यस गर्न हुन्छ",
    "sl": """
    in je v na se da za od so z s ne ki kot ali pa bi bil bila bilo biti po iz do o to ta te tem
    tudi še že pri kaj ko ker če vse svoj njegov njihov med zaradi samo lahko ni sta sem smo
    """,
    "sq": """
    dhe të në e i për me nga një që është si u nuk por ka janë ishte kjo ky ato ata më do tek ose
    kur ku edhe pas para duke së
    """,
    "sr": """
    и у је на се да за од су с а не што који која које као или али није био била било бити ће по
    из до о то овај ова ово тај та те свој његов њихов након пре између због само још може могу
    такође без током i u je na se da za od su što koji koja koje kao ili ali nije bio će pre
    između takođe tokom
    """,
    "sw": """
    na ya wa kwa ni katika za la cha kuwa hii huu hiyo hao yake wake lakini pia au kama baada kabla
    watu moja alikuwa ilikuwa ambayo ambao hadi sana
    """,
    "tl": """
    ang ng sa na mga ay at ni kay si para hindi ito siya sila kami kayo ko mo niya nila may mayroon
    kung o pero dahil bilang isang noong lamang din rin
    """,
    "ur": """
    کے کی کا میں ہے اور سے کو نے پر یہ وہ ہیں تھا تھی تھے ایک اس ان جو کہ بھی لیے ہو
    گیا کر کیا ساتھ بعد نہیں
    """,
    "vi": """
    và của là có không được trong cho các một với những này đó từ người đã sẽ khi để như cũng trên
    về tại ra vào nhiều theo hay hoặc nhưng đến bị
    """,
    "yi": "און די דער איז אין צו פון מיט אויף נישט ער זי עס אז האט",
}
